"""A user-defined collective: ranks 0 and 1 end with the chunks of all ranks in order. Rank 1 gets them from rank 0.

    python3 gather_to_two.py RANKS > gather.xml
"""

import sys

from moire.language import *
from moire.language.collectives import Collective
from moire.topologies import star


class GatherToTwo(Collective):
    def init_buffers(self):
        return [
            {Buffer.input: [Chunk(rank, 0)], Buffer.output: [None] * (self.num_ranks if rank < 2 else 0)}
            for rank in range(self.num_ranks)
        ]

    def check(self, prog):
        right = True
        for rank in range(2):
            for index in range(self.num_ranks):
                held = prog.buffers[rank][Buffer.output][index]
                if held != Chunk(index, 0):
                    print(f"rank {rank}: output chunk {index} is {held}, but must be the chunk of rank {index}")
                    right = False
        return right


def gather_to_two(ranks):
    with MSCCLProgram("gather", star(ranks), GatherToTwo(ranks, 1, inplace=False), 1):
        for rank in range(ranks):
            c = chunk(rank, Buffer.input).copy(0, Buffer.output, rank)
            with parallelize(2):
                c.copy(1, Buffer.output, rank)
        XML()
        return Check()


if __name__ == "__main__":
    raise SystemExit(0 if gather_to_two(int(sys.argv[1])) else 1)
