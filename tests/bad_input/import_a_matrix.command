import nccl-topo ../import/h200x4.nvidia-smi-topo.txt --configs ../../configs
