# Ring all-gather of 8 GPUs in place, the algorithm of the public timings on MI300X. Each GPU has one thread block,
# which receives and sends in separate steps. Call: `PYTHONPATH=python:BUILD/python python3 THIS FILE >
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
