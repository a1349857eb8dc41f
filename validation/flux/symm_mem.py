#!/usr/bin/env python3
"""PyTorch's fused operators over symmetric memory, at the shapes of grid.csv, beside our own kernels.

Usage: symm_mem.py --gpus N --out FILE [--rounds N] [--grid FILE]
--grid: the shapes of a file with the columns mode, m, n and k of one GPU's GEMM, instead.
Multicast is off. There is one process per GPU. Times are those between events around the operator. Before the first
event, a spin hides the host's launch times, and a small all-reduce synchronises the GPUs. A row has the median over the
rounds of the slower rank.
"""
import argparse
import csv
import os
import statistics
import sys
import time

os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.multiprocessing as processes

ROWS = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
PAUSE = 3  # pause before a run, as a multiple of the previous run's time


MODES = {"reduce_scatter": "rs_symm_mem", "all_gather": "ag_symm_mem"}


def shapes(ranks, grid):
    """(operator, m, n, k) of one GPU's GEMM."""
    if grid:
        kinds = {mode: kind for kind, mode in MODES.items()}
        for row in csv.DictReader(line for line in open(grid) if not line.startswith("#")):
            if int(row["ranks"]) == ranks:
                yield kinds[row["mode"]], int(row["m"]), int(row["n"]), int(row["k"])
        return
    for n, k in ((12288, 49152), (8192, 28672)):
        for m in ROWS:
            yield "reduce_scatter", m, n, k // ranks
    for n, k in ((49152, 12288), (28672, 8192)):
        for m in ROWS:
            yield "all_gather", m, n // ranks, k
    for k in (512, 1024, 2048, 4096, 8192, 16384):
        yield "reduce_scatter", 8192, 8192, k
        yield "all_gather", 8192, 8192, k


class Operator:
    def __init__(self, kind, m, n, k, rank, ranks, group):
        self.kind, self.group, self.ranks = kind, group, ranks
        torch.manual_seed(rank)
        rows = m if kind == "reduce_scatter" else m // ranks
        self.a = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
        self.b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16).t()

    def run(self):
        if self.kind == "reduce_scatter":
            return torch.ops.symm_mem.fused_matmul_reduce_scatter(self.a, self.b, "sum", 0, self.group)
        return torch.ops.symm_mem.fused_all_gather_matmul(self.a, [self.b], 0, self.group)[1][0]

    def right(self):
        got = self.run()
        if self.kind == "reduce_scatter":
            whole = torch.matmul(self.a, self.b)
            want = torch.empty_like(got)
            dist.reduce_scatter_tensor(want, whole)
        else:
            gathered = torch.empty(self.a.shape[0] * self.ranks, self.a.shape[1], device="cuda", dtype=self.a.dtype)
            dist.all_gather_into_tensor(gathered, self.a)
            want = torch.matmul(gathered, self.b)
        error = (got.float() - want.float()).norm() / want.float().norm()
        return bool(error < 1e-2)


def measure(operator, flush, meet):
    flush.sum()
    torch.cuda._sleep(2_000_000)  # a millisecond, in which the host enqueues everything
    dist.all_reduce(meet)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    operator.run()
    end.record()
    torch.cuda.synchronize()
    us = begin.elapsed_time(end) * 1e3
    slowest = torch.tensor([us], device="cuda")
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    us = slowest.item()
    time.sleep(max(1e-3, PAUSE * us * 1e-6))
    return us


def worker(rank, arguments):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29531", RANK=str(rank), WORLD_SIZE=str(arguments.gpus))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=arguments.gpus, device_id=torch.device("cuda", rank))
    group = dist.group.WORLD.group_name
    symm_mem.enable_symm_mem_for_group(group)
    flush = torch.zeros(64 << 20, device="cuda", dtype=torch.int32)
    meet = torch.zeros(1, device="cuda")
    file = None
    if rank == 0:
        file = open(arguments.out, "w")
        name = torch.cuda.get_device_name(0)
        print(f"# moire-flux 1\n# gpu: {name}\n# gpus: {arguments.gpus}\n# torch: {torch.__version__}", file=file)
        print(f"# date: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n# multicast: off", file=file)
        print("mode,ranks,m,n,k,whole_n,whole_k,chunks,swizzle,time_us,p10_us,p90_us,repetitions,right", file=file)
    for kind, m, n, k in shapes(arguments.gpus, arguments.grid):
        mode = MODES[kind]
        try:
            operator = Operator(kind, m, n, k, rank, arguments.gpus, group)
            right = operator.right()
            times = [measure(operator, flush, meet) for _ in range(arguments.rounds + 2)][2:]
        except Exception as error:  # all ranks get here if the operator refuses this shape
            print(f"symm_mem: {mode} m={m} n={n} k={k}: {error}", file=sys.stderr)
            continue
        if rank == 0:
            times.sort()
            at = lambda q: times[round(q * (len(times) - 1))]
            whole_n = n * arguments.gpus if kind == "all_gather" else n
            whole_k = k * arguments.gpus if kind == "reduce_scatter" else k
            print(f"{mode},{arguments.gpus},{m},{n},{k},{whole_n},{whole_k},1,on,{statistics.median(times):.2f},{at(0.1):.2f},{at(0.9):.2f},"
                  f"{len(times)},{int(right)}", file=file, flush=True)
        del operator
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--grid")
    arguments = parser.parse_args()
    processes.spawn(worker, args=(arguments,), nprocs=arguments.gpus)


if __name__ == "__main__":
    main()
