check ../../configs/scenarios/fused_1024_gpus.yaml --memory-limit '1 MB'
