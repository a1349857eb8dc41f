"""All-to-All between nodes in two steps: GPU g of a node gathers its node's data for GPU g of another node, then one
message crosses the network.

    python3 node_all_to_all.py NODES GPUS [--protocol Simple|LL|LL128] > all_to_all.xml
"""

import argparse

from moire.language import *
from moire.language.collectives import AllToAll
from moire.topologies import fully_connected


def node_all_to_all(nodes, gpus, protocol):
    ranks = nodes * gpus
    with MSCCLProgram("two_step", fully_connected(ranks), AllToAll(ranks, 1, inplace=False), 1, protocol=protocol):
        for source in range(ranks):
            node = source // gpus
            for target in range(ranks):
                if target // gpus != node:
                    chunk(source, Buffer.input, target).copy(node * gpus + target % gpus, ("to", target // gpus))
                else:
                    chunk(source, Buffer.input, target).copy(target, Buffer.output, source)
        for carrier in range(ranks):
            node = carrier // gpus
            for other in range(nodes):
                if other == node:
                    continue
                c = chunk(carrier, ("to", other), 0, gpus)
                c.copy(c.get_dst_rank(), Buffer.output, c.get_dst_index(), ch=1 + (node + other) % 2)
        XML()
        return Check()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int)
    parser.add_argument("gpus", type=int)
    parser.add_argument("--protocol", default="Simple", choices=["Simple", "LL", "LL128"])
    given = parser.parse_args()
    raise SystemExit(0 if node_all_to_all(given.nodes, given.gpus, given.protocol) else 1)
