import nccl-topo import_no_gpu.xml --configs ../../configs
