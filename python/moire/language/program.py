"""The current program, and references to its chunks."""

import os
import sys
from contextlib import contextmanager

from moire.language.chunks import Buffer, ReduceChunk
from moire.language.policies import Instruction, ReplicationPolicy, ThreadblockPolicy
from moire.native import moire_native

ProgramError = moire_native.ProgramError

_package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_native_buffers = {Buffer.input: 0, Buffer.output: 1}
_current = None


def _program():
    if _current is None:
        raise RuntimeError("no program is open; write this statement inside of 'with MSCCLProgram(...):'")
    return _current


def _line():
    """The position of the user's statement: the innermost line outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename).startswith(_package):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno)


def _fail(text):
    file, line = _line()
    raise ProgramError(f"{os.path.basename(file)}:{line}: {text}")


class Slots:
    """A buffer of a rank as a list of the contents of its chunks: Chunk, ReduceChunk or None."""

    def __init__(self, program, rank, buffer):
        self._program = program
        self._rank = rank
        self._buffer = buffer

    def __len__(self):
        return self._program._native.length(self._rank, self._buffer)

    instance_size = __len__

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no chunk {index}; the buffer has {len(self)} chunks")
        return self._program._held(self._rank, self._buffer, index)

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class RankBuffers:
    """The buffers of a rank, indexed by Buffer or by the name of a scratch buffer."""

    def __init__(self, program, rank):
        self._program = program
        self._rank = rank

    def __getitem__(self, buffer):
        return Slots(self._program, self._rank, self._program._place(self._rank, buffer, 0)[0])

    def __contains__(self, buffer):
        return len(self[buffer]) > 0


class MSCCLProgram:
    def __init__(
        self,
        name,
        topo,
        collective,
        instances,
        protocol="Simple",
        threadblock_policy=ThreadblockPolicy.auto,
        interleaved_replication=True,
        instr_fusion=True,
        check_xml=True,
        dependence_nop=False,
        min_bytes=0,
        max_bytes=0,
    ):
        self.name = name
        self.topo = topo
        self.collective = collective
        self.num_ranks = topo.num_nodes()
        self.instances = instances
        self.protocol = protocol
        self.threadblock_policy = threadblock_policy
        self.replication_policy = (
            ReplicationPolicy.interleaved if interleaved_replication else ReplicationPolicy.duplicated
        )
        if collective.num_ranks != self.num_ranks:
            _fail(f"the collective has {collective.num_ranks} ranks, but the topology has {self.num_ranks}")
        initial = collective.init_buffers()
        self._native = moire_native.Program(
            {
                "name": name,
                "collective": collective.name,
                "ranks": self.num_ranks,
                "chunk_factor": collective.chunk_factor,
                "in_place": bool(collective.inplace),
                "root": getattr(collective, "root", 0),
                "instances": instances,
                "protocol": protocol,
                "manual": threadblock_policy == ThreadblockPolicy.manual,
                "interleaved": bool(interleaved_replication),
                "fuse": bool(instr_fusion),
                "gather_waits": bool(dependence_nop),
                "min_bytes": min_bytes,
                "max_bytes": max_bytes,
            },
            None if collective.is_built_in() else [self._presence(buffers) for buffers in initial],
        )
        # Input and output may be two names for the same list.
        self._one_buffer = [buffers.get(Buffer.output) is buffers.get(Buffer.input) for buffers in initial]
        self._scratch = {}
        self._scratch_names = set()
        self._chunks = {}  # contents of chunks, by the numbers that the compiler gives to values
        self._by_origin = {}
        for rank, buffers in enumerate(initial):
            self._remember(rank, buffers)
        self.buffers = [RankBuffers(self, rank) for rank in range(self.num_ranks)]

    @staticmethod
    def _presence(buffers):
        given = buffers.get(Buffer.input, [])
        wanted = buffers.get(Buffer.output, [])
        if given is wanted:
            wanted = []
        return ([one is not None for one in given], [one is not None for one in wanted])

    def _remember(self, rank, buffers):
        for buffer in (Buffer.input, Buffer.output):
            for index, held in enumerate(buffers.get(buffer, [])):
                if held is None:
                    continue
                value = self._native.value(rank, *self._place(rank, buffer, index))
                if value >= 0 and value not in self._chunks:
                    self._chunks[value] = held
                    origin = self._native.contributions(value)[0]
                    self._by_origin[tuple(origin)] = held

    def _place(self, rank, buffer, index):
        """Converts a place in the form of Python programs to the buffer number and index of the C++ compiler."""
        number = self._buffer_id(buffer)
        if number == 1 and self._one_buffer[rank]:
            number = 0
        return number, index

    def _buffer_id(self, buffer):
        if buffer in _native_buffers:
            return _native_buffers[buffer]
        if buffer not in self._scratch:
            name = "scratch" if buffer is Buffer.scratch else str(buffer)
            while name in self._scratch_names:  # different names such as ("a",) and "('a',)" have the same str()
                name += "'"
            self._scratch_names.add(name)
            self._scratch[buffer] = self._native.scratch(name)
        return self._scratch[buffer]

    def _held(self, rank, buffer, index):
        value = self._native.value(rank, buffer, index)
        if value < 0:
            return None
        if value not in self._chunks:
            parts = [self._by_origin[tuple(origin)] for origin in self._native.contributions(value)]
            self._chunks[value] = ReduceChunk(rank, parts)
        return self._chunks[value]

    def __enter__(self):
        global _current
        if _current is not None:
            raise RuntimeError(f"program '{_current.name}' is still open; programs do not nest")
        _current = self
        return self

    def __exit__(self, kind, value, traceback):
        global _current
        _current = None

    def get_ref(self, rank, buffer, index, size):
        buffer, index = self.collective.get_buffer_index(rank, buffer, index)
        number, index = self._place(rank, buffer, index)
        return Ref(self, self._native.take(rank, number, index, size, _line()), buffer)

    def compile(self):
        return self._native.compile()

    def lower(self):
        """The compiled program as GPUs, thread blocks and their operations."""
        return Lowered(self.compile())

    def generate_xml(self):
        return self.compile().xml()

    def check(self):
        """True if every rank ends with the data that the collective requires; otherwise prints what is wrong."""
        if self.collective.is_built_in():
            wrong = self._native.check()
            if wrong is not None:
                print(f"{self.name}: {wrong}", file=sys.stderr)
                return False
        elif self.collective.check(self) is False:
            return False
        if getattr(self.collective, "root", 0) != 0:
            return True  # MSCCL XML states no root, so moire_native.check would assume rank 0
        wrong = moire_native.check(self.compile())
        for text in wrong:
            print(f"{self.name}: {text}", file=sys.stderr)
        return not wrong


class Ref:
    """A reference to chunks of one rank. It is an error to read chunks that were overwritten after it was made."""

    def __init__(self, program, chunk, buffer):
        self.prog = program
        self.buffer = buffer
        self._chunk = chunk

    rank = property(lambda self: self._chunk.rank)
    index = property(lambda self: self._chunk.index)
    size = property(lambda self: self._chunk.count)

    def __repr__(self):
        return f"Ref(rank {self.rank}, {self.buffer}, index {self.index}, size {self.size})"

    def copy(self, dst, buffer=None, index=-1, sendtb=-1, recvtb=-1, ch=-1):
        """Copies to rank `dst`: to the same place, to a given place, or to the end of a scratch buffer of `dst`."""
        program = self.prog
        if buffer is None:
            buffer = self.buffer
            index = self.index if index == -1 else index
        elif index == -1:
            scratch = buffer not in _native_buffers
            index = program._native.length(dst, program._buffer_id(buffer)) if scratch else self.index
        # In an in-place collective, the index counts within the sender's part of the buffer.
        buffer, index = program.collective.get_buffer_index(self.rank, buffer, index)
        self._must_reach(self.rank, dst)
        number, index = program._place(dst, buffer, index)
        made = program._native.copy(self._chunk, dst, number, index, sendtb, recvtb, ch, _line())
        return Ref(program, made, buffer)

    def reduce(self, other_chunkref, sendtb=-1, recvtb=-1, ch=-1):
        """Adds the chunks of `other_chunkref`, which may be on another rank, to the chunks of this reference."""
        if not isinstance(other_chunkref, Ref):
            _fail(f"reduce takes chunks to add, not {other_chunkref!r}")
        self._must_reach(other_chunkref.rank, self.rank)
        native = self.prog._native
        self._chunk = native.reduce(self._chunk, other_chunkref._chunk, sendtb, recvtb, ch, _line())
        return self

    def encode(self, buffer, index=-1, tb=-1, ch=-1):
        """Compresses the chunks to a `buffer` of the same rank. Encoded chunks may be copied and decoded, not added."""
        return self._code(True, buffer, index, tb, ch)

    def decode(self, buffer, index=-1, tb=-1, ch=-1):
        return self._code(False, buffer, index, tb, ch)

    def _code(self, encodes, buffer, index, tb, ch):
        program = self.prog
        if index == -1:
            scratch = buffer not in _native_buffers
            index = program._native.length(self.rank, program._buffer_id(buffer)) if scratch else self.index
        buffer, index = program.collective.get_buffer_index(self.rank, buffer, index)
        number, index = program._place(self.rank, buffer, index)
        made = program._native.code(self._chunk, encodes, number, index, tb, ch, _line())
        return Ref(program, made, buffer)

    def _must_reach(self, src, dst):
        if not 0 <= dst < self.prog.num_ranks:
            _fail(f"there is no rank {dst}; the program has {self.prog.num_ranks} ranks")
        if src != dst and not self.prog.topo.link(src, dst):
            _fail(f"there is no link from rank {src} to rank {dst} in topology {self.prog.topo.name}")

    def split(self, num):
        if num < 1 or self.size % num != 0:
            _fail(f"{self.size} chunks cannot be split into {num} equal parts")
        return [Ref(self.prog, part, self.buffer) for part in self._chunk.split(num)]

    def group(self, other):
        """A reference to all chunks from the first to the last chunk of both references."""
        if self.rank != other.rank or self.buffer != other.buffer:
            _fail(f"{self} and {other} lie in different buffers")
        return Ref(self.prog, self._chunk.group(other._chunk), self.buffer)

    def _held(self, index):
        return self.prog._held(self.rank, self._chunk.buffer, self.index + index)

    def get_origin_index(self, index=0):
        return self._held(index).origin_index

    def get_origin_rank(self, index=0):
        return self._held(index).origin_rank

    def get_dst_index(self, index=0):
        return self._held(index).dst_index

    def get_dst_rank(self, index=0):
        return self._held(index).dst_rank

    def print_chunk_info(self, index=0):
        print(self._held(index))


class Lowered:
    """A compiled program that can be examined."""

    class Op:
        def __init__(self, step):
            self.inst = Instruction(step.type)
            self.src, self.dst, self.count = step.src, step.dst, step.count

        def __repr__(self):
            return f"Op({self.inst}, {self.src} to {self.dst}, {self.count})"

    class Threadblock:
        def __init__(self, block):
            self.send, self.recv, self.channel = block.send, block.recv, block.channel
            self.ops = [Lowered.Op(step) for step in block.steps]

    class Gpu:
        def __init__(self, rank, gpu):
            self.rank = rank
            self.threadblocks = [Lowered.Threadblock(block) for block in gpu.blocks]

    def __init__(self, algorithm):
        self.gpus = [Lowered.Gpu(rank, gpu) for rank, gpu in enumerate(algorithm.gpus)]


def chunk(rank, buffer, index=0, size=1):
    """A reference to chunks of the current program."""
    return _program().get_ref(rank, buffer, index, size)


def XML():
    """Prints the current program as MSCCL XML."""
    print(_program().generate_xml(), end="")


def Check():
    """If the current program is wrong, prints why and raises ProgramError, so that a script fails."""
    if not _program().check():
        raise ProgramError(f"{_program().name}: Check() found errors in the program, which are printed above")
    return True


@contextmanager
def parallelize(parts):
    """Operations inside this context are cut into `parts` parts, each with its own channels and thread blocks."""
    program = _program()
    program._native.parallel(parts, _line())
    try:
        yield
    finally:
        program._native.parallel(1, _line())
