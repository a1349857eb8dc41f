advise ../data/tiny_node.yaml
