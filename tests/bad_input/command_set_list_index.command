run ../data/tiny_scenario.yaml --set program.queues.main.4=2
