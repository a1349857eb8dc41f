import nccl-topo ../import/h200x4.topology.xml --graph import_other_graph.xml --configs ../../configs
