import nccl-topo ../import/h200x4.topology.xml --configs ../../configs --gpu no_such.yaml
