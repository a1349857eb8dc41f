import nccl-topo import_no_links.xml --configs ../../configs
