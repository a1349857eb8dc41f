advise advise_sweep.yaml
