import nccl-topo import_unequal_gpus.xml --configs ../../configs
