import nccl-topo ../import/h200x4.topology.xml --configs ../../configs --nic ../../configs/hardware/hdr200.yaml
