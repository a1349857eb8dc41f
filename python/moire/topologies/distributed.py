from moire.topologies.topology import Topology

__all__ = ["distributed_fully_connected", "distributed_hub_and_spoke"]


def _copies(local, num_copies, remote_bw):
    size = local.num_nodes()

    def links(src, dst):
        return local.link(src % size, dst % size) if src // size == dst // size else remote_bw

    everyone = range(size * num_copies)
    switches = []
    for copy in range(num_copies):
        for sources, destinations, bandwidth, name in local.switches:
            moved = [[rank + copy * size for rank in ranks] for ranks in (sources, destinations)]
            switches.append((*moved, bandwidth, f"node {copy} {name}"))
    return [[links(src, dst) for src in everyone] for dst in everyone], switches


def distributed_fully_connected(local_topology, num_copies, remote_bw):
    """`num_copies` equal nodes. Every GPU has `remote_bw` links to every GPU of the other nodes."""
    links, switches = _copies(local_topology, num_copies, remote_bw)
    return Topology(f"DistributedFullyConnected({local_topology.name}, {num_copies}, {remote_bw})", links, switches)


def distributed_hub_and_spoke(local_topology, num_copies, remote_bw):
    """Like distributed_fully_connected, but `remote_bw` also bounds the bandwidth that leaves or enters a node."""
    links, switches = _copies(local_topology, num_copies, remote_bw)
    size = local_topology.num_nodes()
    for copy in range(num_copies):
        here = [rank + copy * size for rank in range(size)]
        there = [rank for rank in range(size * num_copies) if rank // size != copy]
        switches += [(here, there, remote_bw, f"node {copy} out"), (there, here, remote_bw, f"node {copy} in")]
    return Topology(f"DistributedHubAndSpoke({local_topology.name}, {num_copies}, {remote_bw})", links, switches)
