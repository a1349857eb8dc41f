"""Topologies state which ranks have a link. A program may copy only along links. System files, not topologies, state
the speed of links."""

from moire.topologies.amd import *
from moire.topologies.distributed import *
from moire.topologies.generic import *
from moire.topologies.nvidia import *
from moire.topologies.topology import Topology
from moire.topologies.transformers import *
