"""Which ranks are linked. A program may copy only along links; system files describe their speed."""

from moire.topologies.amd import *
from moire.topologies.distributed import *
from moire.topologies.generic import *
from moire.topologies.nvidia import *
from moire.topologies.topology import Topology
from moire.topologies.transformers import *
