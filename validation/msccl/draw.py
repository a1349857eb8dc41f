#!/usr/bin/env python3
"""Draws algorithms, numbers of instances and channels, protocols and sizes that grid.csv does not contain.

Usage: draw.py SEED [MOIRE [NAME [RANKS]]]
  MOIRE: the executable moire that compiles the algorithms (default: on the path)
  NAME:  what to write: NAME/*.xml and NAME.csv, which has the columns of grid.csv (default: drawn)
  RANKS: only algorithms for so many ranks (default: for 2 and for 4)

The first size of an algorithm is a multiple of 16 B for each of its chunks, so that the chunks are whole vectors.
"""

import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# Program, its parameters apart from `instances`, and the most instances with which all thread blocks are resident.
PROGRAMS = [
    ("all_reduce_ring", ["channels"], 8),
    ("all_reduce_all_pairs", [], 6),
    ("all_reduce_all_pairs_packed", [], 6),
    ("all_reduce_one_step", [], 6),
    ("all_reduce_halving_doubling", [], 8),
    ("all_reduce_binomial", [], 8),
    ("all_gather_ring", ["channels"], 8),
    ("all_gather_all_pairs", [], 8),
    ("all_gather_recursive_doubling", [], 8),
    ("all_gather_bruck", [], 8),
    ("reduce_scatter_ring", ["channels"], 8),
    ("reduce_scatter_all_pairs", [], 6),
    ("reduce_scatter_halving", [], 8),
    ("all_to_all_one_step", [], 8),
    ("broadcast_chain", [], 8),
    ("broadcast_binomial", [], 8),
    ("reduce_chain", [], 8),
]
MOST = 16 << 20  # bytes; above 20 MiB some of the algorithms deadlock with Simple
FIRST = (1 << 10, 4 << 10)  # range of the first size, in bytes; each further size is 4 times as large


def main():
    seed = int(sys.argv[1])
    moire = sys.argv[2] if len(sys.argv) > 2 else "moire"
    into = sys.argv[3] if len(sys.argv) > 3 else "drawn"
    all_ranks = [int(sys.argv[4])] if len(sys.argv) > 4 else [2, 4]
    draw = random.Random(seed)
    known = {line.split(",")[0] for line in (HERE / "grid.csv").read_text().splitlines()}
    folder = HERE / into
    folder.mkdir(exist_ok=True)
    lines = [
        f"# Drawn by draw.py with seed {seed}; the columns are those of grid.csv.",
        "file,least_bytes,most_bytes,hangs_above_bytes",
    ]
    for ranks in all_ranks:
        for program, extra, most_instances in PROGRAMS:
            for protocol in ("simple", "ll"):
                instances = draw.randint(1, most_instances)
                settings = {"gpus_per_node": ranks, "protocol": protocol, "instances": instances}
                for key in extra:
                    settings[key] = draw.choice([1, 2, 4])
                first = draw.randint(*FIRST)
                channels = settings.get("channels")
                tag = (f"_c{channels}" if channels else "") + f"_i{instances}"
                name = f"{program}{tag}_r{ranks}_{protocol}.xml"
                if name in known:
                    continue
                sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
                done = subprocess.run([moire, "compile", program, *sets], capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    sys.exit(f"{name}: {done.stderr}")
                chunks = int(re.search(r'nchunksperloop="(\d+)"', done.stdout).group(1))
                (folder / name).write_text(done.stdout)
                vector = 16 * chunks
                least = max(1, first // vector) * vector
                lines.append(f"{name},{least},{MOST},0")
    (HERE / f"{into}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
