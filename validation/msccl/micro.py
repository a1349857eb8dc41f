#!/usr/bin/env python3
"""Makes plans, each of which isolates one cost, and the list of cases to time.

Usage: micro.py DIR          writes DIR/*.xml and DIR/micro.csv (benchmark,file,parameters,bytes)

bytes is the size of the whole buffer, as the runtime counts it; docs/reference/measurements.md lists the benchmarks.
"""

import os
import sys
import xml.etree.ElementTree as xml

KIB = 1024
MIB = 1024 * KIB


class Block:
    def __init__(self, send=-1, recv=-1, channel=0):
        self.send, self.recv, self.channel, self.steps = send, recv, channel, []

    def step(self, kind, src=None, dst=None, count=1, after=None):
        """src and dst are (buffer, chunk); after is (block, step) of the same GPU. Returns the step's number."""
        self.steps.append([kind, src or ("i", -1), dst or ("i", -1), count, after or (-1, -1), 0])
        return len(self.steps) - 1


class Plan:
    def __init__(self, name, coll, ll, ranks, chunks, in_place=True, scratch=0):
        self.name, self.coll, self.ll, self.chunks, self.in_place = name, coll, ll, chunks, in_place
        self.scratch = scratch
        self.gpus = [[] for _ in range(ranks)]

    def block(self, rank, **ends):
        self.gpus[rank].append(Block(**ends))
        return self.gpus[rank][-1]

    def write(self, folder):
        channels = 1 + max(b.channel for g in self.gpus for b in g)
        yes, no = ("1", "0") if self.in_place else ("0", "1")
        algo = xml.Element(
            "algo", name=self.name, coll=self.coll, proto="LL" if self.ll else "Simple", nchannels=str(channels),
            nchunksperloop=str(self.chunks), ngpus=str(len(self.gpus)), inplace=yes, outofplace=no, minBytes="0",
            maxBytes="0")
        part = self.chunks // len(self.gpus)
        for rank, blocks in enumerate(self.gpus):
            for block in blocks:
                for step in block.steps:
                    if step[4][0] >= 0:
                        blocks[step[4][0]].steps[step[4][1]][5] = 1
            inputs = part if self.coll == "allgather" else self.chunks
            gpu = xml.SubElement(algo, "gpu", id=str(rank), i_chunks=str(inputs), o_chunks=str(self.chunks),
                                 s_chunks=str(self.scratch))
            for number, block in enumerate(blocks):
                tb = xml.SubElement(gpu, "tb", id=str(number), send=str(block.send), recv=str(block.recv),
                                    chan=str(block.channel))
                for position, (kind, src, dst, count, after, flagged) in enumerate(block.steps):
                    xml.SubElement(tb, "step", s=str(position), type=kind, srcbuf=src[0], srcoff=str(src[1]),
                                   dstbuf=dst[0], dstoff=str(dst[1]), cnt=str(count), depid=str(after[0]),
                                   deps=str(after[1]), hasdep=str(flagged))
        tree = xml.ElementTree(algo)
        xml.indent(tree)
        path = os.path.join(folder, self.name + ".xml")
        tree.write(path)
        return os.path.basename(path)


class List:
    def __init__(self, folder):
        self.folder, self.rows = folder, []

    def add(self, benchmark, plan, parameters, sizes):
        """sizes: pairs (bytes of the whole buffer, parameters of the row)."""
        file = plan.write(self.folder)
        for total, more in sizes:
            text = " ".join(f"{k}={v}" for k, v in {"ll": int(plan.ll), **parameters, **more}.items())
            self.rows.append(f"{benchmark},{file},{text},{total}")

    def write(self):
        with open(os.path.join(self.folder, "micro.csv"), "w") as file:
            file.write("benchmark,file,parameters,bytes\n" + "\n".join(self.rows) + "\n")


def proto(ll):
    return "ll" if ll else "simple"


def local_copies(rows, ll):
    """`blocks` thread blocks of one GPU, each copies a chunk."""
    for blocks in (1, 2, 4, 8, 16, 32, 64, 128):
        plan = Plan(f"copy_{blocks}_{proto(ll)}", "custom", ll, 1, blocks, in_place=False)
        for b in range(blocks):
            plan.block(0).step("cpy", ("i", b), ("o", b))
        sizes = (16, 64 * KIB, MIB, 8 * MIB) if not ll else (16, 16 * KIB, 256 * KIB, 2 * MIB)
        rows.add("msccl_copy", plan, {"blocks": blocks}, [(c * blocks, {"chunk_bytes": c}) for c in sizes])


def local_steps(rows, ll):
    """One thread block does small copies one after the other."""
    for steps in (1, 16, 64, 128):
        plan = Plan(f"steps_{steps}_{proto(ll)}", "custom", ll, 1, 2, in_place=False)
        block = plan.block(0)
        for k in range(steps):
            block.step("cpy", ("i", k % 2), ("o", k % 2))
        rows.add("msccl_steps", plan, {"steps": steps}, [(2 * c, {"chunk_bytes": c}) for c in (16, 4 * KIB)])


def dependencies(rows, ll):
    """Two thread blocks of one GPU do small copies in turns, `hops` copies in all."""
    for hops in (2, 16, 64, 128):
        plan = Plan(f"dependency_{hops}_{proto(ll)}", "custom", ll, 1, 2, in_place=False)
        blocks = [plan.block(0), plan.block(0)]
        last = None
        for k in range(hops):
            last = (k % 2, blocks[k % 2].step("cpy", ("i", k % 2), ("o", k % 2), after=last))
        rows.add("msccl_dependency", plan, {"hops": hops}, [(2 * c, {"chunk_bytes": c}) for c in (16, 4 * KIB)])


def local_reductions(rows, ll):
    """`blocks` thread blocks of one GPU add `sources` chunks each to another one, in one pass."""
    for sources in (1, 3, 7):
        for blocks in (1, 8):
            chunks = blocks * (sources + 1)
            plan = Plan(f"reduce_{sources}_{blocks}_{proto(ll)}", "custom", ll, 1, chunks)
            for b in range(blocks):
                block, first = plan.block(0), b * (sources + 1)
                for s in range(sources):
                    block.step("re", ("i", first + 1 + s), ("i", first))
            sizes = (4 * KIB, 64 * KIB, MIB, 8 * MIB) if not ll else (4 * KIB, 32 * KIB, 256 * KIB, 2 * MIB)
            rows.add("msccl_reduce", plan, {"sources": sources, "blocks": blocks},
                     [(c * chunks, {"chunk_bytes": c}) for c in sizes])


def ping(ll, hops):
    """A chunk goes back and forth between two GPUs, `hops` times. Each hop is one step that receives and sends."""
    plan = Plan(f"ping_{hops}_{proto(ll)}", "broadcast", ll, 2, 1)
    blocks = [plan.block(0, send=1, recv=1), plan.block(1, send=0, recv=0)]
    blocks[0].step("s", ("i", 0))
    for k in range(1, hops):
        blocks[k % 2].step("rcs", dst=("i", 0))
    blocks[hops % 2].step("r", dst=("i", 0))
    return plan


def pings(rows, ll):
    for hops in (2, 8, 32, 128):
        sizes = (16, KIB, 8 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, 512 * KIB, MIB, 2 * MIB)
        rows.add("msccl_ping", ping(ll, hops), {"hops": hops},
                 [(c, {"chunk_bytes": c}) for c in sizes if c <= 32 * KIB or not ll])


def stream_sizes(ll):
    if ll:
        return 4 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2 * MIB, 4 * MIB
    return 32 * KIB, 256 * KIB, MIB, 2 * MIB, 8 * MIB, 32 * MIB


def streams(rows, ll):
    """`connections` thread blocks of one GPU send a chunk each to as many blocks of the other GPU, or both GPUs do."""
    for connections in (1, 2, 4, 8, 16, 24, 32):
        sizes = [(c * connections, {"chunk_bytes": c}) for c in stream_sizes(ll)]
        plan = Plan(f"stream_{connections}_{proto(ll)}", "broadcast", ll, 2, connections)
        for k in range(connections):
            plan.block(0, send=1, channel=k).step("s", ("i", k))
            plan.block(1, recv=0, channel=k).step("r", dst=("i", k))
        rows.add("msccl_stream", plan, {"connections": connections, "both": 0}, sizes)
        plan = Plan(f"exchange_{connections}_{proto(ll)}", "allgather", ll, 2, 2 * connections)
        for rank in range(2):
            for k in range(connections):
                mine, other = ("o", rank * connections + k), ("o", (1 - rank) * connections + k)
                plan.block(rank, send=1 - rank, channel=k).step("s", mine)
                plan.block(rank, recv=1 - rank, channel=k).step("r", dst=other)
        rows.add("msccl_stream", plan, {"connections": connections, "both": 1}, [(2 * t, m) for t, m in sizes])


def one_kind(ll, kind, connections):
    """One GPU sends, the other receives by `kind`: 0 adds (rrc), 1 stores and sends back (rcs), 2 adds, stores and
    sends back (rrcs), 3 adds and sends back (rrs)."""
    coll = ("reduce", "broadcast", "allreduce", "custom")[kind]
    plan = Plan(f"kind_{kind}_{connections}_{proto(ll)}", coll, ll, 2, connections, scratch=connections)
    for k in range(connections):
        mine = ("i", k)
        if kind == 0:
            plan.block(1, send=0, channel=k).step("s", mine)
            plan.block(0, recv=1, channel=k).step("rrc", mine, mine)
            continue
        plan.block(0, send=1, channel=k).step("s", mine)
        plan.block(1, send=0, recv=0, channel=k).step(("", "rcs", "rrcs", "rrs")[kind], mine, mine)
        plan.block(0, recv=1, channel=k).step("r", dst=("s", k) if kind == 1 else mine)
    return plan


def kinds(rows, ll):
    for connections in (1, 8):
        sizes = [(c * connections, {"chunk_bytes": c}) for c in stream_sizes(ll)]
        for kind in range(4):
            rows.add("msccl_kind", one_kind(ll, kind, connections), {"kind": kind, "connections": connections}, sizes)


def part_turns(rows, ll):
    """Pings and kinds, with chunks that leave a part of the last turn of the wavefronts (4 KiB each) empty, and chunks
    of whole turns."""
    if ll:
        return
    for hops in (2, 32):
        sizes = [k * KIB for k in (2, 4, 5, 6, 9, 12, 13, 16, 20, 24, 26, 28, 30)]
        rows.add("msccl_ping", ping(ll, hops), {"hops": hops}, [(c, {"chunk_bytes": c}) for c in sizes])
    for kind in range(4):
        sizes = [k * KIB for k in (1, 4, 5, 16, 26)]
        rows.add("msccl_kind", one_kind(ll, kind, 1), {"kind": kind, "connections": 1},
                 [(c, {"chunk_bytes": c}) for c in sizes])


def many_steps(rows, ll):
    """One connection; `steps` chunks, each sent by one step and received by one step."""
    for steps in (4, 16, 64):
        plan = Plan(f"sends_{steps}_{proto(ll)}", "broadcast", ll, 2, steps)
        sender, receiver = plan.block(0, send=1), plan.block(1, recv=0)
        for k in range(steps):
            sender.step("s", ("i", k))
            receiver.step("r", dst=("i", k))
        sizes = (16, 4 * KIB, 32 * KIB) if ll else (16, 4 * KIB, 32 * KIB, 256 * KIB, MIB)
        rows.add("msccl_sends", plan, {"steps": steps}, [(c * steps, {"chunk_bytes": c}) for c in sizes])


def exchanges(rows, ll):
    """Two GPUs exchange a chunk `steps` times; each exchange begins when the one before it has ended. `blocks` 2: two
    thread blocks of each GPU take turns. `adds` 1: the received chunk is added to the sent one (rrc)."""
    for adds in (0, 1):
        for blocks in (1, 2):
            for steps in (1, 2, 4, 8):
                plan = Plan(f"exchange_{adds}_{blocks}_{steps}_{proto(ll)}", "custom", ll, 2, 2)
                for rank in range(2):
                    own = [plan.block(rank, send=1 - rank, recv=1 - rank, channel=c) for c in range(blocks)]
                    last = None
                    for k in range(steps):
                        block, mine = own[k % blocks], ("i", rank)
                        block.step("s", mine, after=last if blocks == 2 else None)
                        done = block.step("rrc", mine, mine) if adds else block.step("r", dst=("i", 1 - rank))
                        last = (k % blocks, done)
                rows.add("msccl_exchange", plan, {"steps": steps, "blocks": blocks, "adds": adds},
                         [(2 * c, {"chunk_bytes": c}) for c in (16, KIB, 16 * KIB)])


def fifos(rows, ll):
    """Both GPUs send `calls` calls before they receive one. The plan ends only if a connection can hold these calls."""
    for calls in (1, 2, 3, 7, 8, 9):
        plan = Plan(f"fifo_{calls}_{proto(ll)}", "allgather", ll, 2, 2 * calls)
        for rank in range(2):
            block = plan.block(rank, send=1 - rank, recv=1 - rank)
            block.step("s", ("o", rank * calls), count=calls)
            block.step("r", dst=("o", (1 - rank) * calls), count=calls)
        chunk = 32 * KIB if ll else 2 * MIB
        rows.add("msccl_fifo", plan, {"calls": calls}, [(2 * calls * chunk, {"chunk_bytes": chunk})])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    rows = List(sys.argv[1])
    for make in (local_copies, local_steps, dependencies, local_reductions, pings, streams, kinds, part_turns,
                 many_steps, exchanges, fifos):
        for ll in (False, True):
            make(rows, ll)
    rows.write()


main()
