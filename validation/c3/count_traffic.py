#!/usr/bin/env python3
"""count_traffic.py C3_TRAFFIC OUT.csv GRID.csv ...

Counts the bytes that the memory reads and writes, and that the L2 delivers, while cuBLASLt computes every GEMM of the
grid files once with cold caches on one GPU, with NVIDIA's profiler ncu and c3_traffic. OUT.csv has a row for each GEMM;
a GEMM with several kernels (k is split) has the sums over its kernels.
"""
import csv
import re
import subprocess
import sys

# The profiler counts the metrics of a group in one pass, so that it runs each kernel only once, with cold caches.
GROUPS = [["dram__bytes_read.sum", "dram__bytes_write.sum"], ["lts__t_sectors_op_read.sum"]]
SCALE = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "sector": 32}


def counted(program, grid, metrics):
    """Returns the shape of every GEMM and the sums of the metrics over its kernels, in bytes."""
    command = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "none", "--metrics",
               ",".join(metrics), "--csv", "--page", "raw", program, "--grid", grid, "--gpus", "1", "--out",
               "/dev/null"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    gemms = [line.split()[1:] for line in printed if re.fullmatch(r"gemm \d+ \d+ \d+ \d+", line)]
    rows = list(csv.DictReader(line for line in printed if line.startswith('"')))
    units, rows = rows[0], rows[1:]
    if len(rows) != sum(int(gemm[3]) for gemm in gemms):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(gemms)} GEMMs")
    result, place = {}, 0
    for m, n, k, kernels in gemms:
        own, place = rows[place:place + int(kernels)], place + int(kernels)
        result[m, n, k] = [round(sum(float(row[x].replace(",", "")) for row in own) * SCALE[units[x]]) for x in metrics]
    return result


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, out, grids = sys.argv[1], sys.argv[2], sys.argv[3:]
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True,
                         capture_output=True, text=True).stdout.splitlines()[0]
    groups = [{shape: values for grid in grids for shape, values in counted(program, grid, metrics).items()}
              for metrics in GROUPS]
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {gpu}\n# metrics of ncu: {', '.join(x for group in GROUPS for x in group)}\n"
                   "m,n,k,memory_read_bytes,memory_written_bytes,l2_read_bytes\n")
        for shape in groups[0]:
            file.write(",".join([*shape, *(str(x) for group in groups for x in group[shape])]) + "\n")


if __name__ == "__main__":
    main()
