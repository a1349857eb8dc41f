import nccl-topo
