#!/usr/bin/env python3
"""count_instructions.py FUSED_EMBEDDING GRID.csv OUT.csv

Counts the instructions that the wavefronts of the embedding kernels issue, with NVIDIA's profiler ncu and
fused_embedding --count on one GPU. OUT.csv has a row for each point and kernel: its tasks, its workgroups (grid), the
instructions of all wavefronts, these per task and wavefront (a workgroup has 8), and the share of integer arithmetic in
them. The fused kernel is persistent, so its first task contains the start of its workgroup.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import profiler  # noqa: E402

WAVEFRONTS = 8  # of a workgroup of 256 threads


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, grid, out = sys.argv[1:]
    printed, rows = profiler.profiled(["smsp__inst_executed.sum", "sm__inst_executed_pipe_alu.sum", "launch__grid_size"],
                                      ["--kernel-name", "regex:fused_kernel"],
                                      [program, "--grid", grid, "--gpus", "1", "--count"])
    points = [line.split() for line in printed if re.fullmatch(r"\S+ (unfused_kernel|fused) \d+", line)]
    if len(rows) != len(points):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(points)}")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {profiler.gpu()}\n# grid: {grid}\n")
        file.write("# instructions of wavefronts: smsp__inst_executed.sum of ncu; integer: sm__inst_executed_pipe_alu.sum\n")
        file.write("name,kernel,tasks,workgroups,instructions,instructions_per_task_and_wavefront,"
                   "integer_share\n")
        for (name, kernel, tasks), (count, integer, workgroups) in zip(points, rows):
            file.write(f"{name},{kernel},{tasks},{workgroups:.0f},{count:.0f},{count / int(tasks) / WAVEFRONTS:.1f},"
                       f"{integer / count:.3f}\n")


if __name__ == "__main__":
    main()
