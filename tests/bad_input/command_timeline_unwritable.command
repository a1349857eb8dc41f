run ../data/tiny_scenario.yaml --timeline /nonexistent/folder/out.pftrace
