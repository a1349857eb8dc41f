"""All-reduce around a ring, with one chunk for each rank. Sums travel around the ring once, then results once.

    python3 ring_all_reduce.py RANKS [--channels N] [--instances N] [--protocol Simple|LL|LL128] > ring.xml
"""

import argparse

from moire.language import *
from moire.language.collectives import AllReduce
from moire.topologies import ring


def ring_all_reduce(ranks, channels, instances, protocol):
    with MSCCLProgram("ring", ring(ranks), AllReduce(ranks, ranks, True), instances, protocol=protocol) as program:
        for index in range(ranks):
            c = chunk(index, Buffer.input, index)
            for hop in range(1, ranks):
                c = chunk((index + hop) % ranks, Buffer.input, index).reduce(c, ch=index % channels)
            for hop in range(ranks, 2 * ranks - 1):
                c = c.copy((index + hop) % ranks, ch=index % channels)
        XML()
        return Check()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=int)
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--protocol", default="Simple", choices=["Simple", "LL", "LL128"])
    given = parser.parse_args()
    raise SystemExit(0 if ring_all_reduce(given.ranks, given.channels, given.instances, given.protocol) else 1)
