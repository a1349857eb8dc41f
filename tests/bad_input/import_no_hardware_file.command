import nccl-topo import_no_hardware_file.xml --configs ../../configs
