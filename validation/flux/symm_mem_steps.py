#!/usr/bin/env python3
"""The steps of PyTorch's operators over symmetric memory, each alone (symm_mem.py measures the operators).

Usage: symm_mem_steps.py --out FILE [--rounds N]     (two GPUs)
`sum`: the sum of parts of a result, between two events. `barriers`: so many barriers in a row. `exchanges`: so many
times a barrier, a copy of a peer's rows and a barrier, as after each product of fused_matmul_reduce_scatter. `split`: a
product of few rows whose k cuBLASLt divides. A row has the median over the rounds of the slower rank. Before each run,
other data fill the L2.
"""
import argparse
import os
import statistics
import time

os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.multiprocessing as processes

GPUS = 2


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


class Bench:
    def __init__(self, rank, rounds):
        group = dist.group.WORLD.group_name
        symm_mem.enable_symm_mem_for_group(group)
        self.rounds = rounds
        self.flush = torch.zeros(64 << 20, device="cuda", dtype=torch.int32)
        self.meet = torch.zeros(1, device="cuda")
        shared = symm_mem.empty(16 << 20, device="cuda", dtype=torch.bfloat16)
        self.handle = symm_mem.rendezvous(shared, group)
        self.peer = self.handle.get_buffer(1 - rank, (16 << 20,), torch.bfloat16)
        self.got = torch.empty_like(shared)

    def time(self, run):
        us = []
        for _ in range(self.rounds + 2):
            self.flush.sum()
            torch.cuda._sleep(2_000_000)  # a millisecond, in which the host enqueues everything
            dist.all_reduce(self.meet)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            slowest = torch.tensor([begin.elapsed_time(end) * 1e3], device="cuda")
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            us.append(slowest.item())
            time.sleep(2e-3)
        return sorted(us[2:])

    def barriers(self, count):
        for i in range(count):
            self.handle.barrier(i % 2)

    def exchanges(self, count, elements):
        for i in range(count):
            self.handle.barrier(0)
            self.got[:elements].copy_(self.peer[:elements])
            self.handle.barrier(1)


def cases(bench):
    for parts in (2, 4, 8):
        for rows in (16, 64, 256, 1024, 4096):
            x = random(parts, rows, 8192)
            yield "sum", f"parts={parts} rows={rows} columns=8192", lambda: torch.sum(x, 0)
    for count in (1, 2, 4, 8):
        yield "barriers", f"count={count}", lambda: bench.barriers(count)
    for rows in (16, 64, 256):
        for count in (1, 2, 4):
            yield "exchanges", f"count={count} rows={rows} columns=8192", lambda: bench.exchanges(count, rows * 8192)
    for m, n, k in ((16, 4096, 14336), (32, 4096, 14336), (64, 4096, 14336), (16, 8192, 28672), (64, 8192, 28672)):
        a, b = random(m, k), random(n, k).t()
        yield "split", f"m={m} n={n} k={k}", lambda: torch.mm(a, b)


def worker(rank, arguments):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29532", RANK=str(rank), WORLD_SIZE=str(GPUS))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=GPUS, device_id=torch.device("cuda", rank))
    bench = Bench(rank, arguments.rounds)
    file = open(arguments.out, "w") if rank == 0 else None
    if file:
        print(f"# gpu: {torch.cuda.get_device_name(0)}\n# gpus: {GPUS}\n# torch: {torch.__version__}", file=file)
        print(f"# date: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n# multicast: off", file=file)
        print("# command: validation/flux/symm_mem_steps.py --out FILE", file=file)
        print("step,parameters,time_us,p10_us,p90_us,repetitions", file=file)
    for step, parameters, run in cases(bench):
        times = bench.time(run)
        if file:
            at = lambda q: times[round(q * (len(times) - 1))]
            median = statistics.median(times)
            print(f"{step},{parameters},{median:.2f},{at(0.1):.2f},{at(0.9):.2f},{len(times)}", file=file, flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=31)
    arguments = parser.parse_args()
    processes.spawn(worker, args=(arguments,), nprocs=GPUS)


if __name__ == "__main__":
    main()
