run ../data/tiny_scenari.yaml
