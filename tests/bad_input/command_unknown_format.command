run ../data/tiny_scenario.yaml --format xml
