compile all_reduce_all_pairs --set gpus_per_node=1024
