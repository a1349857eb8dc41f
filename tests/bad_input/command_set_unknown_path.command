run ../data/tiny_scenario.yaml --set sytem.nodes=2
