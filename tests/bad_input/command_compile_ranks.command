compile all_gather_ring --set gpus_per_node=1
