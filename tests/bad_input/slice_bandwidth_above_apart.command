run ../../configs/scenarios/embedding_h200.yaml --set "system.node.gpu.l2.slice_bandwidth=2 TB/s"
