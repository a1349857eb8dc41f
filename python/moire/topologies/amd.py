from moire.topologies.topology import Topology

__all__ = ["amd4", "amd8"]


def amd4():
    """Four GPUs in a ring: each GPU has links to two others."""
    links = [[1 if abs(src - dst) in (1, 2) and src + dst != 3 else 0 for src in range(4)] for dst in range(4)]
    return Topology("AMD4", links)


def amd8():
    """Two groups of four GPUs, with more links inside a group than between groups."""
    group = [0, 1, 0, 0, 1, 0, 1, 1]

    def links(src, dst):
        return 0 if src == dst else 6 if group[src] == group[dst] else 5

    return Topology("AMD8", [[links(src, dst) for src in range(8)] for dst in range(8)])
