# Ring all-gather of 8 GPUs in place, with one thread block per GPU and the receive and the send as two steps: the
# algorithm of the public timings on MI300X. `PYTHONPATH=python:BUILD/python python3 THIS FILE >
# all_gather_ring_unfused.xml`
from moire.language import *
from moire.language.collectives import AllGather
from moire.topologies import *

ranks = 8
with MSCCLProgram("all_gather_ring_unfused", fully_connected(ranks), AllGather(ranks, 1, True), 1, instr_fusion=False,
                  protocol="Simple", threadblock_policy=ThreadblockPolicy.manual):
    for hop in range(ranks - 1):
        for index in range(ranks):
            sender = (index + hop) % ranks
            chunk(sender, Buffer.output, index).copy((sender + 1) % ranks, Buffer.output, index, sendtb=0, recvtb=0, ch=0)
    XML()
