run ../data/tiny_scenario.yaml --set 'system.nodes=[1, 2'
