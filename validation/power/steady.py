#!/usr/bin/env python3
"""Summarises the steady state of each loop of run.sh: time of an iteration, SM clock and power of its GPUs in its last
second. Adds the operations of Moire that do the same work.

  steady.py POWER ITERATIONS                 a table for validation files: mean, smallest and largest value of the GPUs
  steady.py --measurements POWER ITERATIONS  single loops, or products with pauses, as measurements for `moire calibrate`
  steady.py --plan                           the table of further mixtures without their measured values

Files may be packed by zstd."""
import csv
import subprocess
import sys

MIB = 1 << 20
# Resources of the loops' hand-written kernels: 8 workgroups of 256 threads on each of 132 SMs.
LOOP = "name: loop, workgroups: 8 * 132, threads: 256, registers_per_thread: 32, lds: 0 B"
FMA = 1056 * 256 * 8 * 20000 * 2
# As compiled by CUDA 13.0 for sm_90: a loop of four rounds has 32 FMAs and three instructions that count and branch.
FMA_INSTRUCTIONS = 8 * 20000 // 4 * 35


def gemm(m, n=0, k=0, more=""):
    return "{gemm: {m: %d, n: %d, k: %d%s}}" % (m, n or m, k or m, more)


def kernel(work):
    return "{kernel: {%s, steps: [{work: {name: loop, %s}}]}}" % (LOOP, work)


def collective(name, mib, more=""):
    return "{%s: {bytes_per_rank: %d MiB%s}}" % (name, mib, more)


def reads(of, miss):
    return kernel("read: %d / (8 * 132), read_miss: %d, in_flight: 16 KiB" % (of, miss))


STREAM = "{stream: {inputs: 1, bytes: 1 GiB, schedule: grid_stride}}"
LARGE = gemm(8192)

# For each loop: the operations of the main queue, those of a second queue if there is one, and which queue is launched
# first.
SINGLE = {
    "hold_awake": ["{kernel: {name: hold, workgroups: 132, threads: 128, steps: [{pause: {time: 2024 us}}]}}"],
    "stream_1gib": [STREAM],
    "read_hbm": [reads(1024 * MIB, 1)],
    "read_l2": [reads(60 * 16 * MIB, 0)],
    "fma_fp32": [kernel("flop: %d / (8 * 132), instructions: %d" % (FMA, FMA_INSTRUCTIONS))],
    "peer_store": [kernel("read: %d / (8 * 132), peer: 1 - rank, peer_write: %d / (8 * 132), in_flight: 16 KiB"
                          % (256 * MIB, 256 * MIB))],
    "peer_copy": [collective("all_gather", 256, ", engine: dma")],
    "all_reduce_64mib": [collective("all_reduce", 64)],
    "all_gather_64mib": [collective("all_gather", 64)],
    "gemm_2048_normal": [gemm(2048)],
    "gemm_4096_normal": [gemm(4096)],
    "gemm_16384x8192x1024_normal": [gemm(16384, 8192, 1024)],
    "gemm_8192_normal": [LARGE],
    "gemm_8192_zeros": [gemm(8192, more=", digits: 0")],
    "gemm_8192_ones": [gemm(8192, more=", digits: 0")],
    "gemm_8192_thirds": [gemm(8192, more=", digits: 0")],
}
READER = ("{kernel: {name: reader, workgroups: 16, threads: 1024, registers_per_thread: 32, steps: "
          "[{load: {bytes: %d / 16, pipelined: false, in_flight: 64 KiB}}]}}" % (1024 * MIB))
MIXED = {
    "gemm_8192x8192x512": [gemm(8192, 8192, 512)],
    "gemm_4096x14336x4096": [gemm(4096, 14336, 4096)],
    "gemm_1024x8192x8192": [gemm(1024, 8192, 8192)],
    "gemm_16384x16384x2048": [gemm(16384, 16384, 2048)],
    "gemm_stream_1_1": [", ".join([LARGE, STREAM])],
    "gemm_stream_1_3": [", ".join([LARGE] + 3 * [STREAM])],
    "gemm_stream_1_8": [", ".join([LARGE] + 8 * [STREAM])],
    "gemm_beside_read": [READER, gemm(8192, more=", cus: 116")],
    "gemm_beside_all_reduce_64": [LARGE, collective("all_reduce", 64)],
    "gemm_beside_all_reduce_256": [LARGE, collective("all_reduce", 256)],
    "gemm_beside_all_to_all_256": [LARGE, collective("all_to_all", 256)],
    "gemm_4096x8192x8192_beside_all_gather_64": [gemm(4096, 8192, 8192), collective("all_gather", 64)],
    "gemm_4096_beside_all_reduce_16": [gemm(4096), collective("all_reduce", 16)],
    "gemm_then_all_reduce_256": [", ".join([LARGE, collective("all_reduce", 256)])],
    "gemm_beside_copies_256": [LARGE, collective("all_gather", 256, ", engine: dma, streams: 1")],
    "stream_beside_all_reduce_64": [collective("all_reduce", 64), STREAM],
    "gemm_8192_fp16": [gemm(8192, more=", dtype: fp16")],
}
READ_FEW = READER.replace("workgroups: 16", "workgroups: 8").replace("%d / 16" % (1024 * MIB), "%d / 8" % (512 * MIB))


def stream(mib):
    return "{stream: {inputs: 1, bytes: %d MiB, schedule: grid_stride}}" % mib


MORE = {
    "gemm_6144": [gemm(6144)],
    "gemm_4096x4096x16384": [gemm(4096, 4096, 16384)],
    "gemm_8192x8192x2048": [gemm(8192, 8192, 2048)],
    "gemm_2048x8192x8192": [gemm(2048, 8192, 8192)],
    "gemm_stream_2_1": [", ".join([LARGE, LARGE, STREAM])],
    "gemm_4096_stream_256": [", ".join([gemm(4096), stream(256)])],
    "gemm_2048x8192x8192_stream_512": [", ".join([gemm(2048, 8192, 8192), stream(512)])],
    "gemm_4096_read_hbm": [", ".join([gemm(4096), SINGLE["read_hbm"][0]])],
    "gemm_4096_twice_read_l2": [", ".join([gemm(4096), gemm(4096), SINGLE["read_l2"][0]])],
    "gemm_6144_fma": [", ".join([gemm(6144), SINGLE["fma_fp32"][0]])],
    "gemm_beside_few_reads": [READ_FEW, gemm(8192, more=", cus: 124")],
}


def queues(parts):
    """The operations as the queues of a scenario; the second queue begins 10 us later."""
    main = "main: {operations: [%s]}" % parts[0]
    if len(parts) == 1:
        return "{queues: {%s}}" % main
    return "{launch: [main], queues: {%s, beside: {operations: [{delay: {time: 10 us}}, %s]}}}" % (main, parts[1])


def rows(name):
    packed = name.endswith(".zst")
    text = subprocess.run(["zstd", "-dc", name], capture_output=True, text=True, check=True).stdout if packed \
        else open(name, encoding="utf-8").read()
    lines = text.splitlines()
    return [line for line in lines if line.startswith("#")], list(csv.DictReader(l for l in lines if l[:1] != "#"))


def steady(samples, iterations):
    """By loop: us, MHz and watts of each GPU in the loop's last second; also the idle power before the first loop."""
    found = {}
    end = {}
    for row in iterations:
        key = row["loop"], row["gpu"]
        end[key] = max(end.get(key, 0), float(row["t_ms"]))
    for row in iterations:
        key = row["loop"], row["gpu"]
        if float(row["t_ms"]) > end[key] - 1000:
            one = found.setdefault(key, {"us": [], "times": [], "mhz": [], "watt": []})
            one["us"].append(float(row["us"]) * int(row["iterations"]))
            one["times"].append(int(row["iterations"]))
    for row in samples:
        key = row["loop"], row["gpu"]
        if key in end and end[key] - 1000 < float(row["t_ms"]) < end[key] - 20:
            found[key]["mhz"].append(float(row["sm_mhz"]))
            found[key]["watt"].append(float(row["watt"]))
    table = {}
    for (loop, _), one in found.items():
        gpu = {"us": sum(one["us"]) / sum(one["times"])}
        gpu.update({key: sum(one[key]) / len(one[key]) for key in ("mhz", "watt")})
        table.setdefault(loop, []).append(gpu)
    first = samples[0]["loop"]
    idle = [float(r["watt"]) for r in samples if r["loop"] == first and float(r["t_ms"]) < -20]
    return table, sum(idle) / len(idle)


def mean(values):
    return sum(values) / len(values)


def table_of(known, table):
    out = csv.writer(sys.stdout, lineterminator="\n")
    columns = [c + end for c in ("us", "mhz", "watt") for end in ("", "_low", "_high")] if table else []
    out.writerow(["loop", "program"] + columns)
    for loop, parts in known.items():
        row = [loop, queues(parts)]
        if table:
            if loop not in table:
                continue
            for key, digits in (("us", 3), ("mhz", 1), ("watt", 1)):
                values = [gpu[key] for gpu in table[loop]]
                row += ["%.*f" % (digits, v) for v in (mean(values), min(values), max(values))]
        out.writerow(row)


def measurements(about, table, idle):
    shapes = {"gemm_2048_normal": (2048, 2048, 2048, 1), "gemm_4096_normal": (4096, 4096, 4096, 1),
              "gemm_16384x8192x1024_normal": (16384, 8192, 1024, 1), "gemm_8192_normal": (8192, 8192, 8192, 1),
              "gemm_8192_zeros": (8192, 8192, 8192, 0), "gemm_8192_ones": (8192, 8192, 8192, 0),
              "gemm_8192_thirds": (8192, 8192, 8192, 0), "gemm_4096_zeros": (4096, 4096, 4096, 0)}
    named = {"hold_awake": ("power_hold", ""), "fma_fp32": ("power_fma", " rounds=20000"),
             "read_hbm": ("power_read", " bytes=%d times=1" % (1024 * MIB)),
             "read_l2": ("power_read", " bytes=%d times=60" % (16 * MIB)),
             "stream_1gib": ("power_stream", " bytes=%d" % (1024 * MIB)),
             "peer_store": ("power_peer_store", " bytes=%d gpus=2" % (256 * MIB)),
             "peer_copy": ("power_peer_copy", " bytes=%d gpus=2" % (256 * MIB))}
    for loop, shape in shapes.items():
        named[loop] = "power_gemm", " m=%d n=%d k=%d digits=%d" % shape
    for loop in table:
        product, _, pause = loop.partition("_pause_")
        if pause:
            named[loop] = "power_gemm", " m=%d n=%d k=%d digits=%d pause_us=%s" % (shapes[product] + (pause,))
    print("# moire-measurements 1")
    for line in about:
        print(line)
    print("benchmark,parameters,metric,value,unit,repetitions,low,high")

    def row(benchmark, parameters, metric, values, unit):
        print("%s,%s,%s,%.6g,%s,%d,%.6g,%.6g" % (benchmark, parameters, metric, mean(values), unit, len(values),
                                                min(values), max(values)))

    if "hold_awake" in table:
        row("power_idle", "", "power", [idle], "W")
    limit = 700
    for loop, (benchmark, more) in named.items():
        if loop not in table:  # one GPU has no peer
            continue
        gpus = table[loop]
        # The GPU is idle in a pause. The energy and the time are those of the product alone.
        pause = float(loop.partition("_pause_")[2] or 0)
        where = "clock_mhz=%.1f us=%.3f%s" % (mean([g["mhz"] for g in gpus]), mean([g["us"] for g in gpus]) - pause, more)
        row(benchmark, where, "energy", [(g["watt"] * g["us"] - idle * pause) * 1e-3 for g in gpus], "mJ")
        if benchmark == "power_gemm" and mean([g["watt"] for g in gpus]) < 0.9 * limit:
            row(benchmark, where, "clock_left", [g["mhz"] for g in gpus], "MHz")
    held = [g["watt"] for loop in shapes for g in table.get(loop, []) if g["watt"] > 0.97 * limit]
    if held:
        row("power_held", "limit_w=%d" % limit, "power", held, "W")


def main(arguments):
    if arguments == ["--plan"]:
        return table_of(MORE, {})
    as_measurements = arguments[:1] == ["--measurements"]
    if len(arguments) != 2 + as_measurements:
        sys.exit(__doc__)
    about, samples = rows(arguments[-2])
    _, iterations = rows(arguments[-1])
    table, idle = steady(samples, iterations)
    if as_measurements:
        return measurements(about, table, idle)
    for line in about:
        print(line)
    return table_of(next(known for known in (SINGLE, MIXED, MORE) if next(iter(known)) in table), table)


if __name__ == "__main__":
    main(sys.argv[1:])
