compile all_reduce_binomial --set gpus_per_node=6
