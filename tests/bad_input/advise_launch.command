advise advise_launch.yaml
