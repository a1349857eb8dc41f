from moire.topologies.topology import Topology

__all__ = ["Topology", "fully_connected", "hub_and_spoke", "line", "ring", "star"]


def _linked(name, num_nodes, has_link, switches=()):
    links = [[1 if src != dst and has_link(src, dst) else 0 for src in range(num_nodes)] for dst in range(num_nodes)]
    return Topology(f"{name}(n={num_nodes})", links, switches)


def fully_connected(num_nodes):
    return _linked("FullyConnected", num_nodes, lambda src, dst: True)


def hub_and_spoke(num_nodes):
    """All nodes are connected through one switch, with one link per node."""
    switches = []
    for node in range(num_nodes):
        others = [other for other in range(num_nodes) if other != node]
        switches += [([node], others, 1, f"node {node} out"), (others, [node], 1, f"node {node} in")]
    return _linked("HubAndSpoke", num_nodes, lambda src, dst: True, switches)


def ring(num_nodes):
    return _linked("Ring", num_nodes, lambda src, dst: (src - dst) % num_nodes in (1, num_nodes - 1))


def line(num_nodes):
    return _linked("Line", num_nodes, lambda src, dst: abs(src - dst) == 1)


def star(num_nodes, non_blocking=True):
    """A star with node 0 in the middle."""
    points = list(range(1, num_nodes))
    switches = [] if non_blocking else [([0], points, 1, "to points"), (points, [0], 1, "from points")]
    return _linked("Star", num_nodes, lambda src, dst: 0 in (src, dst), switches)
