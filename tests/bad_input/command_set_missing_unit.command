run ../data/tiny_scenario.yaml --set system.node.gpu.hbm.bandwidth=300
