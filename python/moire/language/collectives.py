"""A collective states the data of every rank at the start, and the data that every rank must have at the end.

A user-defined collective derives from Collective and defines two functions. init_buffers returns, for each rank, a dict
from Buffer to a list of Chunk or None. check examines the program's `buffers[rank][buffer][index]` at the end.
"""

from moire.language import *
from moire.language import __all__ as _language

__all__ = _language + [
    "AllGather", "AllReduce", "AllToAll", "Broadcast", "Collective", "Reduce", "ReduceScatter", "SendRecv",
]


class Collective:
    name = "custom"

    def __init__(self, num_ranks, chunk_factor, inplace, root=0, **kwargs):
        self.num_ranks = num_ranks
        self.chunk_factor = chunk_factor
        self.inplace = inplace
        self.root = root

    def init_buffers(self):
        raise NotImplementedError("a collective states what the ranks' buffers hold at the beginning")

    def check(self, prog):
        return True

    def get_buffer_index(self, rank, buffer, index):
        """Returns the buffer and index at which a place lies. In an in-place collective, input and output share one
        buffer."""
        return buffer, index

    def is_built_in(self):
        """True if the compiler knows the inputs and results of this collective. False if a derived class changes them.
        """
        known = next(kind for kind in type(self).__mro__ if kind.__module__ == __name__)
        return known is not Collective and known is not SendRecv and all(
            getattr(type(self), method) is getattr(known, method)
            for method in ("init_buffers", "check", "get_buffer_index")
        )

    def _of_ranks(self, given, wanted):
        """given(rank) returns the chunks of a rank at the start. `wanted` is the number of its output chunks."""
        return [{Buffer.input: given(rank), Buffer.output: [None] * wanted} for rank in range(self.num_ranks)]


class _SameBuffer(Collective):
    def get_buffer_index(self, rank, buffer, index):
        if self.inplace and buffer is Buffer.output:
            return Buffer.input, index
        return buffer, index


class AllReduce(_SameBuffer):
    name = "allreduce"

    def __init__(self, num_ranks, chunk_factor, inplace, num_ranks_per_node=-1, **kwargs):
        super().__init__(num_ranks, chunk_factor, inplace, **kwargs)

    def init_buffers(self):
        factor = self.chunk_factor
        return self._of_ranks(lambda rank: [Chunk(rank, i, -1, i) for i in range(factor)], factor)


class AllToAll(_SameBuffer):
    name = "alltoall"

    def init_buffers(self):
        factor = self.chunk_factor
        chunks = self.num_ranks * factor
        return self._of_ranks(
            lambda rank: [Chunk(rank, i, i // factor, rank * factor + i % factor) for i in range(chunks)], chunks
        )


class Broadcast(_SameBuffer):
    name = "broadcast"

    def __init__(self, num_ranks, chunk_factor, inplace, root=0, **kwargs):
        super().__init__(num_ranks, chunk_factor, inplace, root, **kwargs)

    def init_buffers(self):
        factor = self.chunk_factor
        return self._of_ranks(
            lambda rank: [Chunk(rank, i, -1, i) if rank == self.root else None for i in range(factor)], factor
        )


class Reduce(_SameBuffer):
    name = "reduce"

    def init_buffers(self):
        factor = self.chunk_factor
        return self._of_ranks(lambda rank: [Chunk(rank, i, self.root, i) for i in range(factor)], factor)


class AllGather(Collective):
    name = "allgather"

    def __init__(self, num_ranks, chunk_factor, inplace, create_all_chunks=False):
        super().__init__(num_ranks, chunk_factor, inplace)

    def init_buffers(self):
        factor = self.chunk_factor
        return self._of_ranks(
            lambda rank: [Chunk(rank, i, -1, rank * factor + i) for i in range(factor)], self.num_ranks * factor
        )

    def get_buffer_index(self, rank, buffer, index):
        if self.inplace and buffer is Buffer.input:
            return Buffer.output, index + rank * self.chunk_factor
        return buffer, index


class ReduceScatter(Collective):
    name = "reducescatter"

    def init_buffers(self):
        factor = self.chunk_factor
        return self._of_ranks(
            lambda rank: [Chunk(rank, i, i // factor, i % factor) for i in range(self.num_ranks * factor)], factor
        )

    def get_buffer_index(self, rank, buffer, index):
        if self.inplace and buffer is Buffer.output:
            return Buffer.input, index + rank * self.chunk_factor
        return buffer, index


class SendRecv(_SameBuffer):
    """Two ranks exchange their chunks."""

    name = "sendrecv"

    def init_buffers(self):
        if self.num_ranks != 2:
            raise ValueError(f"SendRecv is for 2 ranks, not {self.num_ranks}")
        factor = self.chunk_factor
        return self._of_ranks(lambda rank: [Chunk(rank, i, 1 - rank, i) for i in range(factor)], factor)

    def check(self, prog):
        right = True
        buffer = Buffer.input if self.inplace else Buffer.output
        for rank in range(2):
            for index, held in enumerate(prog.buffers[rank][buffer]):
                if held != Chunk(1 - rank, index):
                    print(f"chunk {index} of rank {rank} is {held}, but must be chunk {index} of rank {1 - rank}")
                    right = False
        return right
