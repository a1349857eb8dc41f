#!/usr/bin/env python3
"""count_traffic.py C3_TRAFFIC OUT.csv GRID.csv ...

Counts the bytes that the memory reads and writes, and that the L2 delivers, while cuBLASLt computes every GEMM of the
grid files once with cold caches on one GPU, with NVIDIA's profiler ncu and c3_traffic. OUT.csv has a row for each GEMM;
a GEMM with several kernels (k is split) has the sums over its kernels.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import profiler  # noqa: E402

# The profiler counts the metrics of a group in one pass, so that it runs each kernel only once, with cold caches.
GROUPS = [["dram__bytes_read.sum", "dram__bytes_write.sum"], ["lts__t_sectors_op_read.sum"]]


def counted(program, grid, metrics):
    """Returns the shape of every GEMM and the sums of the metrics over its kernels, in bytes."""
    printed, rows = profiler.profiled(metrics, ["--profile-from-start", "off"],
                                      [program, "--grid", grid, "--gpus", "1", "--out", "/dev/null"])
    gemms = [line.split()[1:] for line in printed if re.fullmatch(r"gemm \d+ \d+ \d+ \d+", line)]
    if len(rows) != sum(int(gemm[3]) for gemm in gemms):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(gemms)} GEMMs")
    result, place = {}, 0
    for m, n, k, kernels in gemms:
        own, place = rows[place:place + int(kernels)], place + int(kernels)
        result[m, n, k] = [round(sum(of_metric)) for of_metric in zip(*own)]
    return result


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, out, grids = sys.argv[1], sys.argv[2], sys.argv[3:]
    groups = [{shape: values for grid in grids for shape, values in counted(program, grid, metrics).items()}
              for metrics in GROUPS]
    with open(out, "w", encoding="utf-8") as file:
        metrics = ", ".join(x for group in GROUPS for x in group)
        file.write(f"# gpu, driver: {profiler.gpu()}\n# metrics of ncu: {metrics}\n"
                   "m,n,k,memory_read_bytes,memory_written_bytes,l2_read_bytes\n")
        for shape in groups[0]:
            file.write(",".join([*shape, *(str(x) for group in groups for x in group[shape])]) + "\n")


if __name__ == "__main__":
    main()
