run ../../configs/scenarios/embedding_h200.yaml --set system.node.gpu.l2.slices=2
