check no_trace.yaml.zst
