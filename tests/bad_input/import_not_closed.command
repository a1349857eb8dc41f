import nccl-topo import_not_closed.xml --configs ../../configs
