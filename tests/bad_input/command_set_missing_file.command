run ../data/tiny_scenario.yaml --set system=../data/tiny_nod.yaml
