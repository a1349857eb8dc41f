"""A language for collective algorithms: programs describe what happens to the chunks of buffers.

    with MSCCLProgram("ring", fully_connected(4), AllReduce(4, 4, True), instances=2, protocol="LL"):
        c = chunk(1, Buffer.input, 0).reduce(chunk(0, Buffer.input, 0))
        c.copy(2, Buffer.input, 0, ch=1)
        XML()
        Check()

Moire's compiler, which is written in C++, records and compiles the operations; nothing is compiled in Python.
"""

from moire.language.chunks import Buffer, Chunk, ReduceChunk
from moire.language.policies import Instruction, ReplicationPolicy, ThreadblockPolicy
from moire.language.program import MSCCLProgram, Ref, XML, Check, ProgramError, chunk, parallelize

__all__ = [
    "Buffer", "Check", "Chunk", "Instruction", "MSCCLProgram", "ProgramError", "ReduceChunk", "Ref",
    "ReplicationPolicy", "ThreadblockPolicy", "XML", "chunk", "parallelize",
]
