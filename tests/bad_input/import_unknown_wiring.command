import nccl-topo ../import/h200x4.topology.xml --wiring ring
