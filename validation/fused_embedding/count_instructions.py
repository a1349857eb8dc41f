#!/usr/bin/env python3
"""count_instructions.py FUSED_EMBEDDING GRID.csv OUT.csv

Counts the instructions that the wavefronts of the embedding kernels issue, with NVIDIA's profiler ncu and
fused_embedding --count on one GPU. OUT.csv has a row for each point and kernel: its tasks, its workgroups (grid), the
instructions of all wavefronts, and these per task and wavefront (a workgroup has 8). The fused kernel is persistent, so
its first task contains the start of its workgroup.
"""
import csv
import subprocess
import sys

WAVEFRONTS = 8  # of a workgroup of 256 threads


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, grid, out = sys.argv[1:]
    command = [program, "--grid", grid, "--gpus", "1", "--count"]
    points = [line.split() for line in subprocess.run(command, check=True, capture_output=True,
                                                      text=True).stdout.splitlines()]
    profiler = ["ncu", "--clock-control", "none", "--kernel-name", "regex:fused_kernel", "--metrics",
                "smsp__inst_executed.sum,launch__grid_size", "--csv", "--page", "raw"]
    printed = subprocess.run(profiler + command, check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(line for line in printed.splitlines() if line.startswith('"')))[1:]  # without units
    if len(rows) != len(points):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(points)}")
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True,
                         capture_output=True, text=True).stdout.strip()
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {gpu}\n# grid: {grid}\n")
        file.write("# instructions of wavefronts: smsp__inst_executed.sum of ncu\n")
        file.write("name,kernel,tasks,workgroups,instructions,instructions_per_task_and_wavefront\n")
        for (name, kernel, tasks), row in zip(points, rows):
            count = int(row["smsp__inst_executed.sum"].replace(",", ""))
            workgroups = row["launch__grid_size"].replace(",", "")
            file.write(f"{name},{kernel},{tasks},{workgroups},{count},{count / int(tasks) / WAVEFRONTS:.1f}\n")


if __name__ == "__main__":
    main()
