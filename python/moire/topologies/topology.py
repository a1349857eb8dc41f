class Topology:
    """links[dst][src] is the number of links from src to dst. A switch (sources, destinations, bandwidth, name) bounds
    the bandwidth from its sources to its destinations; programs ignore switches."""

    def __init__(self, name, links, switches=()):
        self.name = name
        self.links = links
        self.switches = list(switches)
        if any(len(row) != len(links) for row in links):
            raise ValueError(f"topology {name}: the matrix of links is not square")
        for _, _, bandwidth, switch in self.switches:
            if bandwidth <= 0:
                raise ValueError(f"topology {name}: switch {switch} has bandwidth {bandwidth}; it must be above 0")

    def num_nodes(self):
        return len(self.links)

    def nodes(self):
        return range(len(self.links))

    def link(self, src, dst):
        return self.links[dst][src]

    def sources(self, dst):
        return (src for src in self.nodes() if self.links[dst][src] > 0)

    def destinations(self, src):
        return (dst for dst in self.nodes() if self.links[dst][src] > 0)
