import nccl-topo import_same_rank.xml --configs ../../configs
