run no_such_folder/scenario.yaml
