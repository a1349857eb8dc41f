check ../../configs/scenarios/fused_1024_gpus.yaml --memory-limit '10 MB'
