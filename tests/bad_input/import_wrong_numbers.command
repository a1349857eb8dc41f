import nccl-topo import_wrong_numbers.xml --configs ../../configs
