import nccl-topo ../import/h200x4.graph.xml --configs ../../configs
