compile all_reduce_two_node_all_pairs --set nodes=3 --set gpus_per_node=2
