#!/usr/bin/env python3
"""Checks a Moire WG trace (version 1) against its own header and against the shape's arithmetic.

Usage: check_trace.py TRACE.csv[.zst]     exit status 1 and a reason if the trace is wrong. Needs only the standard
library (.zst needs the zstd command).
"""
import subprocess
import sys
from collections import Counter, defaultdict

COLUMNS = "kind,rank,wg,task,cu,peer,start_ns,compute_end_ns,end_ns,read_bytes,flop,store_bytes".split(",")
REQUIRED = ("ranks kernel wgs_per_rank threads_per_wg registers_per_thread lds_bytes_per_wg bytes_in_flight_per_wg "
            "recorded_end_ns gpu driver cuda clocks date command timer_resolution_ns clock_offset_uncertainty_ns shape "
            "measured_by").split()


def read(path):
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
    else:
        text = open(path, encoding="utf-8").read()
    lines = text.splitlines()
    assert lines[0] == "# moire-wgtrace 1", "first line"
    header = {}
    at = 1
    while lines[at].startswith("#"):
        key, _, value = lines[at][2:].partition(": ")
        assert key not in header, f"key {key} twice"
        header[key] = value
        at += 1
    assert lines[at].split(",") == COLUMNS, "column names"
    rows = []
    for line in lines[at + 1:]:
        cells = line.split(",")
        assert len(cells) == len(COLUMNS), line
        rows.append((cells[0], *map(int, cells[1:])))
    return header, rows


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def main(path):
    header, rows = read(path)
    missing = [k for k in REQUIRED if k not in header]
    assert not missing, f"missing keys: {missing}"
    shape = dict(part.split("=") for part in header["shape"].split(","))
    tables, batch, dim, pooling, bags = (int(shape[k]) for k in
                                         ("tables_per_gpu", "global_batch", "dim", "pooling", "bags_per_task"))
    ranks, wgs = int(header["ranks"]), int(header["wgs_per_rank"])
    item = {"fp32": 4, "fp16": 2, "bf16": 2}[shape.get("dtype", "fp32")]
    exchanges = header["kernel"] != "unfused_embedding"  # otherwise all stores are local and no workgroup waits
    blocks = batch // bags
    tasks = tables * blocks

    order = [(r[1], r[6], r[2], r[3]) for r in rows]
    assert order == sorted(order), "rows are not sorted by (rank, start_ns, wg, task)"
    assert min(r[6] for r in rows) == 0, "the earliest start is not 0"
    assert max(r[8] for r in rows) == int(header["recorded_end_ns"]), "recorded_end_ns"

    seen, waits, busy = Counter(), Counter(), defaultdict(list)
    stored, read_bytes, flop = defaultdict(int), defaultdict(int), defaultdict(int)
    cu_of = {}
    for kind, rank, wg, task, cu, peer, start, compute_end, end, reads, adds, stores in rows:
        assert 0 <= rank < ranks and 0 <= wg < wgs and 0 <= peer < ranks, "range"
        assert start <= compute_end <= end, f"time runs backwards: rank {rank} wg {wg} task {task}"
        assert cu_of.setdefault((rank, wg), cu) == cu, "a WG changed its CU"
        if kind == "wait":
            assert task == -1 and peer != rank and compute_end == end and reads == adds == stores == 0, "wait row"
            waits[rank, wg, peer] += 1
            continue
        assert kind == "task", kind
        owner = task % blocks // (blocks // ranks) if exchanges else rank
        assert peer == owner, f"task {task} goes to the wrong rank"
        seen[rank, task] += 1
        busy[rank, wg].append((start, end))
        stored[rank, peer] += stores
        read_bytes[rank] += reads
        flop[rank] += adds
    assert len(seen) == ranks * tasks and set(seen.values()) == {1}, "every (rank, task) exactly once"
    expected_waits = ranks * wgs * (ranks - 1) if exchanges else 0
    assert len(waits) == expected_waits and set(waits.values()) <= {1}, "every (rank, wg, peer) waits once"
    for key, spans in busy.items():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), f"tasks of one WG overlap: {key}"
    for rank in range(ranks):
        assert read_bytes[rank] == tables * batch * pooling * (dim * item + 4), "read bytes"
        assert flop[rank] == tables * batch * pooling * dim, "flop"
        for peer in range(ranks):
            share = tables * (batch // ranks) * dim * item
            assert stored[rank, peer] == (share if exchanges else share * ranks if peer == rank else 0), "stored bytes"

    print(f"{path}: {len(seen)} tasks, {len(waits)} waits, end {header['recorded_end_ns']} ns: ok")
    for rank in range(ranks):
        mine = [r for r in rows if r[1] == rank]
        task_rows = [r for r in mine if r[0] == "task"]
        gaps = []
        for (owner, _), spans in busy.items():
            if owner == rank:
                gaps += [b[0] - a[1] for a, b in zip(spans, spans[1:])]
        print(f"  rank {rank}: first task {min(r[6] for r in task_rows)} "
              f"last task end {max(r[8] for r in task_rows)} ns")
        for name, part in (("remote", [r for r in task_rows if r[5] != rank]),
                           ("local", [r for r in task_rows if r[5] == rank])):
            if part:
                print(f"    {name} tasks end {max(r[8] for r in part)}; median sum phase "
                      f"{median([r[7] - r[6] for r in part])}, store phase {median([r[8] - r[7] for r in part])} ns")
        if gaps:
            print(f"    gap between a WG's tasks {median(gaps)}, longest {max(gaps)} ns")
        if exchanges:
            print(f"    longest wait {max(r[8] - r[6] for r in mine if r[0] == 'wait')} ns")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except AssertionError as failure:
        print(f"{sys.argv[1]}: {failure}", file=sys.stderr)
        sys.exit(1)
