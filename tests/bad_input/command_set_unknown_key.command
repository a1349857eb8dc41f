run ../data/tiny_scenario.yaml --set system.node.gpuz=2
