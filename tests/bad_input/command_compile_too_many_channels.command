compile all_reduce_ring --set channels=20 --set gpus_per_node=40 --set instances=2
