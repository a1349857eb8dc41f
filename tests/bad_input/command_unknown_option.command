run ../data/tiny_scenario.yaml --speed
