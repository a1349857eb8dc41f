import nccl-topo ../import/h200x4.topology.xml --configs ../../configs --gpu ../../configs/hardware/hdr200.yaml
