"""Building blocks of programs. Each function adds the operations of a ring to the current program."""

from moire.language import *

__all__ = ["allgather_ring_inplace", "allreduce_ring_inplace"]


def allgather_ring_inplace(gpus, gpu_offset=0, index_offset=0, ch=0):
    """`gpus` ranks from gpu_offset on pass their inputs around a ring. The input of rank gpu_offset + i becomes output
    chunk index_offset + i of all these ranks."""
    for first in range(gpus):
        c = chunk(gpu_offset + first, Buffer.input, 0)
        for hop in range(1, gpus):
            c = c.copy(gpu_offset + (first + hop) % gpus, Buffer.output, index_offset + first, ch=ch)


def allreduce_ring_inplace(gpus, gpu_offset=0, index_offset=0, ch=0):
    """`gpus` ranks from gpu_offset on sum their input chunks from index_offset on, one chunk per rank."""
    for first in range(gpus):
        index = index_offset + first

        def member(hop):
            return gpu_offset + (first + hop) % gpus

        c = chunk(member(0), Buffer.input, index)
        for hop in range(1, gpus):
            c = chunk(member(hop), Buffer.input, index).reduce(c, ch=ch)
        for hop in range(gpus, 2 * gpus - 1):
            c = c.copy(member(hop), Buffer.input, index, ch=ch)
