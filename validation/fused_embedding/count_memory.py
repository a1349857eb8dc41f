#!/usr/bin/env python3
"""count_memory.py FUSED_EMBEDDING OUT.csv GRID.csv ...

Counts the bytes that the memory reads and writes while the embedding kernels run, with NVIDIA's profiler ncu and
fused_embedding --count on one GPU. OUT.csv has a row for each point and kernel: the bytes of rows and of row numbers
that the kernel loads, the bytes of results that it stores, and the bytes that the memory read and wrote. What the
memory did not read was in the L2; results that it did not write are still there when the kernel ends.
"""
import csv
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import profiler  # noqa: E402

METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum"]
ELEMENT = {"fp32": 4, "fp16": 2, "bf16": 2}
INDEX = 4  # bytes of a row number


def table(lines):
    return list(csv.DictReader(lines))


def counted(program, grid):
    """Returns (point, kernel, bytes read, bytes written) of every launch."""
    printed, rows = profiler.profiled(METRICS, ["--kernel-name", "regex:fused_kernel"],
                                      [program, "--grid", grid, "--gpus", "1", "--count"])
    launches = [line.split() for line in printed if re.fullmatch(r"\S+ (unfused_kernel|fused) \d+", line)]
    if len(rows) != len(launches):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(launches)}")
    for (point, kernel, _), row in zip(launches, rows):
        yield point, kernel, *map(round, row)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, out, grids = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {profiler.gpu()}\n# metrics of ncu: {', '.join(METRICS)}\n")
        file.write("grid,name,kernel,row_bytes,index_bytes,result_bytes,memory_read_bytes,memory_written_bytes\n")
        for grid in grids:
            with open(grid, encoding="utf-8") as lines:
                points = {row["name"]: row for row in table(line for line in lines if not line.startswith("#"))}
            for name, kernel, read, written in counted(program, grid):
                point = points[name]
                vectors = int(point["tables_per_gpu"]) * int(point["global_batch"])
                row = int(point["dim"]) * ELEMENT[point["dtype"]]
                rows = vectors * int(point["pooling"])
                file.write(f"{os.path.basename(grid)},{name},{kernel},{rows * row},{rows * INDEX},{vectors * row},"
                           f"{read},{written}\n")


if __name__ == "__main__":
    main()
