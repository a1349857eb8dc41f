import nccl-topo ../import/h200x4.topology.xml --graph ../import/h200x4.topology.xml --configs ../../configs
