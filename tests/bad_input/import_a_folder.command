import nccl-topo ../import
