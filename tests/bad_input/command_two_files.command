run ../data/tiny_scenario.yaml ../data/tiny_node.yaml
