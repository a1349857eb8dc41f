run ../data/tiny_scenario.yaml --set system.nodes
