#!/usr/bin/env python3
"""count_rows.py CACHED_ROWS OUT.csv

Counts with NVIDIA's profiler ncu how many bytes the memory reads and writes while cached_rows reads random rows. OUT.csv
has a row for each pass of each point (cached_rows.cu says what their columns are).
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import profiler  # noqa: E402

COLUMNS = "row_bytes,rows,zipf,reads,passes,reads_per_store,loads,before"
METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum"]
MIB = 1 << 20


def points():
    def point(row, rows, zipf, reads, loads, passes=1, per_store=0, before="ordinary"):
        return f"{row},{rows},{zipf},{reads},{passes},{per_store},{loads},{before}"

    # Rows that are all alike, read again and again: how many of them does the L2 hold?
    for loads, before in (("ordinary", "ordinary"), ("evict_first", "ordinary"), ("evict_first", "evict_first")):
        for table in (2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 128):
            rows = table * MIB // 512
            yield point(512, rows, 0, rows, loads, passes=6, before=before)
    for loads in ("ordinary", "evict_first"):
        # Stores take room from rows.
        for per_store in (1, 2, 4, 16, 64):
            for table in (8, 16, 32, 64, 128):
                yield point(512, table * MIB // 512, 0, 262144, loads, per_store=per_store)
        # Popular rows, as in the embedding kernels.
        for zipf in (0.8, 1.05, 1.2):
            for row in (128, 512, 1024):
                for reads in (32768, 262144):
                    for per_store in (0, 1, 4, 16):
                        yield point(row, 800000, zipf, reads, loads, per_store=per_store)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = sys.argv[1:]
    printed, rows = profiler.profiled(METRICS, ["--kernel-name", "regex:read_rows"], [program, *points()])
    passes = [line.split() for line in printed if re.fullmatch(r"\d+,\S+,(ordinary|evict_first) \d+", line)]
    if len(rows) != len(passes):
        sys.exit(f"the profiler saw {len(rows)} kernels of {len(passes)}")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"# gpu, driver: {profiler.gpu()}\n# metrics of ncu: {', '.join(METRICS)}\n")
        file.write(f"{COLUMNS},pass,memory_read_bytes,memory_written_bytes\n")
        for (point, turn), (read, written) in zip(passes, rows):
            file.write(f"{point},{turn},{read:.0f},{written:.0f}\n")


if __name__ == "__main__":
    main()
