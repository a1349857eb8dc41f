#!/usr/bin/env python3
"""Makes the tables of validation/h200 that `moire validate` reads.

operator_table.py draw SEED COUNT NAME [wide]
                                             a grid of points that are drawn at random; wide: also tables of 1,000 to
                                             4 million rows, exponents of up to 1.5, more rows a vector, other batches
operator_table.py cases GRID.csv [GPUS]      the cases of a grid on 4 and 2 GPUs, or on GPUS, before they are measured
operator_table.py join OPERATOR.csv...       what fused_embedding wrote for 4 and for 2 GPUs, as one table
Writes to stdout.
"""
import csv
import random
import sys

# Registers per thread of the fused and the unfused kernel. The key is (bytes of an element, bags of a group of
# threads). Reported by nvcc 13.0 for sm_90.
REGISTERS = {(4, 1): (50, 48), (4, 2): (56, 56), (4, 4): (64, 64), (2, 1): (56, 54), (2, 2): (66, 63)}
THREADS = 256
SMS = 132  # of an H200
COLUMNS = (
    "name,gpus,tables_per_gpu,global_batch,pooling,dim,dtype,zipf,rows_per_table,bags_per_task,wgs_per_gpu,"
    "registers_fused,registers_unfused,wgs_per_sm_fused,wgs_per_sm_unfused,in_flight_bytes"
).split(",")


def read(path):
    """The `# key: value` lines and the rows."""
    about, rows = [], []
    with open(path, newline="") as file:
        for line in file:
            (about if line.startswith("#") else rows).append(line)
    return [line[1:].strip() for line in about], list(csv.DictReader(rows))


def write(about, columns, rows):
    for line in about:
        print("#", line)
    table = csv.DictWriter(sys.stdout, columns, lineterminator="\n", extrasaction="ignore")
    table.writeheader()
    table.writerows(rows)


def wgs_per_sm(registers):
    return min(2048 // THREADS, 65536 // (THREADS * (-(-registers // 8) * 8)))


def case(point, gpus):
    element = 4 if point["dtype"] == "fp32" else 2
    row_threads = int(point["dim"]) * element // 16
    bags = int(point["bags_per_task"]) // (THREADS // row_threads)
    fused, unfused = REGISTERS[element, bags]
    tasks = int(point["tables_per_gpu"]) * int(point["global_batch"]) // int(point["bags_per_task"])
    made = {key: point[key] for key in COLUMNS if key in point}
    made.update(
        gpus=gpus,
        wgs_per_gpu=min(wgs_per_sm(fused) * SMS, tasks),
        registers_fused=fused,
        registers_unfused=unfused,
        wgs_per_sm_fused=wgs_per_sm(fused),
        wgs_per_sm_unfused=wgs_per_sm(unfused),
        in_flight_bytes=THREADS * 16 * bags * min(int(point["pooling"]), 8 // bags),
    )
    return made


def draw(seed, count, name, reach=None):
    """Every second point has a multiple of three tables, which most likely uses the links of NVLink unevenly."""
    wide = reach == "wide"
    rng = random.Random(seed)
    points = []
    while len(points) < count:
        third = len(points) % 2 == 0
        tables = rng.choice([3, 6, 9, 12, 15, 18, 24, 30, 36, 48] if third else [1, 2, 4, 5, 8, 10, 14, 16, 20, 28, 40])
        batch = rng.choice([1024, 2048, 4096, 8192, 16384, 32768])
        pooling = round(2 ** rng.uniform(0, 6))
        dtype = rng.choice(["fp32", "fp16", "bf16"])
        dim = rng.choice([32, 64, 128, 256, 512])
        vector = dim * (4 if dtype == "fp32" else 2)
        bags = min(64, THREADS * 16 // vector * rng.choice([1, 2]))  # a slice has 64 vectors
        zipf = rng.choice([0, 0, 0.8, 1.05])
        rows = rng.choice([200000, 400000, 800000])
        if wide:
            batch = rng.choice([512, 1024, 2048, 4096, 8192, 16384, 32768, 65536])
            pooling = round(2 ** rng.uniform(0, 7.5))
            zipf = rng.choice([0, round(rng.uniform(0.3, 1.5), 2)])
            rows = round(10 ** rng.uniform(3, 6.6))
        if bags * pooling % 4 != 0:  # the kernels load four row numbers at a time
            continue
        # Between about 5 us and 3 ms, and at most 40 GB of tables.
        if not 1e7 < tables * batch * (pooling + 2) * vector < 1e10 or tables * rows * vector > 4e10:
            continue
        label = f"{name}_{len(points):02d}_{tables}t_{batch // 1024}k_p{pooling}_d{dim}_{dtype}"
        label += f"_zipf{zipf}".replace(".", "") if zipf else ""
        points.append([label, tables, batch, pooling, dim, dtype, zipf, rows, bags, 1])
    columns = "name,tables_per_gpu,global_batch,pooling,dim,dtype,zipf,rows_per_table,bags_per_task,also_on_2_gpus"
    about = [f"Points of the embedding + All-to-All: operator_table.py draw {seed} {count} {name}{' wide' if wide else ''}"]
    write(about, columns.split(","), [dict(zip(columns.split(","), point)) for point in points])


def cases(path, gpus=None):
    about, points = read(path)
    rows = [case(p, 4) for p in points] + [case(p, 2) for p in points if p["also_on_2_gpus"] == "1"]
    rows = [row for row in rows if gpus in (None, row["gpus"])]
    if not rows:
        sys.exit(f"{path}: no point is for {gpus} GPUs; take 2 or 4")
    about += ["status: cases only, not measured yet", "registers: nvcc 13.0, sm_90; workgroups a SM follow from them"]
    write(about, COLUMNS, rows)


def join(paths):
    about, rows, columns = [], [], []
    for path in paths:
        more, these = read(path)
        about += [line for line in more if line not in about]
        rows += these
        columns = columns or list(these[0])
    write(about, columns, rows)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "cases":
        cases(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "cases" and sys.argv[3].isdigit():
        cases(sys.argv[2], int(sys.argv[3]))
    elif len(sys.argv) in (5, 6) and sys.argv[1] == "draw" and sys.argv[2].isdigit() and sys.argv[3].isdigit() and \
            sys.argv[5:] in ([], ["wide"]):
        draw(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    elif len(sys.argv) >= 3 and sys.argv[1] == "join":
        join(sys.argv[2:])
    else:
        sys.exit(__doc__)


main()
