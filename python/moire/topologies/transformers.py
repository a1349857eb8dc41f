from moire.topologies.topology import Topology

__all__ = ["binarize_topology", "reverse_topology"]


def reverse_topology(topology):
    """The topology with every link reversed."""
    switches = [(dst, src, bandwidth, f"{name} reversed") for src, dst, bandwidth, name in topology.switches]
    return Topology(f"Reverse{topology.name}", [list(row) for row in zip(*topology.links)], switches)


def binarize_topology(topology):
    """The topology with one link where it has several, and without its switches."""
    return Topology(f"Binarized{topology.name}", [[1 if links > 0 else 0 for links in row] for row in topology.links])
