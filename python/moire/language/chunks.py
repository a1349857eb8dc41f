"""The contents of chunks, for collectives that define their inputs and results."""

from enum import Enum


class Buffer(Enum):
    """The buffers of a rank. A program names its scratch buffers itself, by strings or tuples."""

    input = "i"
    output = "o"
    scratch = "s"

    def __str__(self):
        return self.value


class Chunk:
    """The data of a chunk that a rank contributes: their source and, if there is only one destination, the destination.
    """

    __slots__ = ("origin_rank", "origin_index", "dst_rank", "dst_index")

    def __init__(self, origin_rank, origin_index, dst_rank=-1, dst_index=-1):
        self.origin_rank = origin_rank
        self.origin_index = origin_index
        self.dst_rank = dst_rank
        self.dst_index = dst_index

    def _origin(self):
        return (self.origin_rank, self.origin_index)

    def reduce(self, rank, other):
        return ReduceChunk(rank, [self]).reduce(rank, other)

    def __eq__(self, other):
        return isinstance(other, Chunk) and self._origin() == other._origin()

    def __lt__(self, other):
        return self._origin() < other._origin()

    def __hash__(self):
        return hash(self._origin())

    def __repr__(self):
        return f"Chunk(rank {self.origin_rank}, index {self.origin_index})"


class ReduceChunk:
    """A sum of chunks. Two sums are equal if they have the same terms, in whatever order the terms were added."""

    __slots__ = ("creation_rank", "chunks")

    def __init__(self, creation_rank, chunks):
        self.creation_rank = creation_rank
        self.chunks = list(chunks)

    def reduce(self, rank, other):
        more = other.chunks if isinstance(other, ReduceChunk) else [other]
        return ReduceChunk(self.creation_rank, self.chunks + more)

    def __eq__(self, other):
        return isinstance(other, ReduceChunk) and sorted(self.chunks) == sorted(other.chunks)

    def __hash__(self):
        return hash(tuple(sorted(self.chunks)))

    def __repr__(self):
        return "ReduceChunk(" + " + ".join(repr(one) for one in sorted(self.chunks)) + ")"
