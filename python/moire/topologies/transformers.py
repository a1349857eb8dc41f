from moire.topologies.topology import Topology

__all__ = ["binarize_topology", "reverse_topology"]


def reverse_topology(topology):
    """Every link the other way."""
    switches = [(dst, src, bandwidth, f"{name} reversed") for src, dst, bandwidth, name in topology.switches]
    return Topology(f"Reverse{topology.name}", [list(row) for row in zip(*topology.links)], switches)


def binarize_topology(topology):
    """Who has a link to whom, and nothing else."""
    return Topology(f"Binarized{topology.name}", [[1 if links > 0 else 0 for links in row] for row in topology.links])
