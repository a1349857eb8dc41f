compile all_reduce_one_step --set gpus_per_node=256
