import nccl-graph x
