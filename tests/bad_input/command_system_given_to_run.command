run ../data/tiny_node.yaml
