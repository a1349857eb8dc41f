"""Who has a link to whom. A program may copy only along links; how fast they are is the simulator's business."""

from moire.topologies.amd import *
from moire.topologies.distributed import *
from moire.topologies.generic import *
from moire.topologies.nvidia import *
from moire.topologies.topology import Topology
from moire.topologies.transformers import *
