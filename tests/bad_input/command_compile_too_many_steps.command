compile all_reduce_ring --set gpus_per_node=200
