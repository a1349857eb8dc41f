from moire.topologies.topology import Topology

__all__ = ["dgx1", "dgx_a100"]


def dgx1():
    """NVLinks of the DGX-1: two quads of V100s, each GPU linked to one of the other quad; some pairs have two links."""
    one = [(0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6)]
    two = [(0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7)]
    links = [[0] * 8 for _ in range(8)]
    for count, pairs in ((1, one), (2, two)):
        for a, b in pairs:
            links[a][b] = links[b][a] = count
    return Topology("DGX1", links)


def dgx_a100():
    """Eight A100s on NVSwitch, 12 links each."""
    return Topology("DGX_A100", [[0 if src == dst else 12 for src in range(8)] for dst in range(8)])
