import nccl-topo import_other_root.xml --configs ../../configs
