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
import subprocess
import sys

METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum"]
SCALE = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
ELEMENT = {"fp32": 4, "fp16": 2, "bf16": 2}
INDEX = 4  # bytes of a row number


def table(lines):
    return list(csv.DictReader(lines))


def counted(program, grid):
    """Returns (point, kernel, bytes read, bytes written) of every launch."""
    command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--kernel-name", "regex:fused_kernel",
               "--metrics", ",".join(METRICS), "--csv", "--page", "raw", program, "--grid", grid, "--gpus", "1",
               "--count"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    launches = [line.split() for line in printed if re.fullmatch(r"\S+ (unfused_kernel|fused) \d+", line)]
    rows = table(line for line in printed if line.startswith('"'))
    units, rows = rows[0], rows[1:]
    if len(rows) != len(launches):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(launches)}")
    for (point, kernel, _), row in zip(launches, rows):
        yield point, kernel, *(round(float(row[m].replace(",", "")) * SCALE[units[m]]) for m in METRICS)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, out, grids = sys.argv[1], sys.argv[2], sys.argv[3:]
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True,
                         capture_output=True, text=True).stdout.splitlines()[0]
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {gpu}\n# metrics of ncu: {', '.join(METRICS)}\n")
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
