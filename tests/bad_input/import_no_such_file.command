import nccl-topo no_such.xml
