simulate ../data/tiny_scenario.yaml
