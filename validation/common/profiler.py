"""Runs a program under NVIDIA's profiler ncu."""
import csv
import subprocess

SCALE = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "sector": 32}  # bytes


def profiled(metrics, options, command):
    """Returns the lines that the command printed, and a row for each kernel: its metrics, bytes where they are bytes.

    The GPU keeps its clocks, and its caches are not cleared.
    """
    profiler = ["ncu", "--clock-control", "none", "--cache-control", "none", *options, "--metrics", ",".join(metrics),
                "--csv", "--page", "raw"]
    printed = subprocess.run(profiler + command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = list(csv.DictReader(line for line in printed if line.startswith('"')))
    units, rows = rows[0], rows[1:]
    return printed, [[float(row[m].replace(",", "")) * SCALE.get(units[m], 1) for m in metrics] for row in rows]


def gpu():
    return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True,
                          capture_output=True, text=True).stdout.splitlines()[0]
