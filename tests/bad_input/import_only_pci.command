import nccl-topo import_only_pci.xml --configs ../../configs
