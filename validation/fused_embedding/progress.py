#!/usr/bin/env python3
"""Prints how far the workgroups of persistent kernels have come, from workgroup traces (*.wgtrace.csv).

Usage: progress.py TRACE... > progress.csv

A row is a tenth of the time in which a GPU's workgroups do their first tasks for peers, and a kind of compute unit: the
fast ones have done more than 1.2 times as many tasks as the mean at its end, the slow ones are the others.
`tasks` is the mean number of tasks that a workgroup has done, `deviation` the standard deviation of this number.
"""
import bisect
import collections
import math
import os
import sys


def read(path):
    """Returns {rank: {workgroup: (compute unit, sorted ends of all tasks, end of its last task for a peer)}}."""
    ends, units, remote = collections.defaultdict(list), {}, {}
    with open(path) as lines:
        for line in lines:
            if not line.startswith("task,"):
                continue
            _, rank, workgroup, _, unit, peer, _, _, end, *_ = line.split(",")
            key = int(rank), int(workgroup)
            ends[key].append(int(end))
            units[key] = int(unit)
            if peer != rank:
                remote[key] = max(remote.get(key, 0), int(end))
    ranks = collections.defaultdict(dict)
    for (rank, workgroup), times in ends.items():
        key = rank, workgroup
        ranks[rank][workgroup] = units[key], sorted(times), remote.get(key, 0)
    return ranks


def done(workgroups, time):
    return {w: bisect.bisect_right(ends, time) for w, (_, ends, _) in workgroups.items()}


def fast_units(workgroups, time):
    tasks = collections.defaultdict(list)
    for workgroup, number in done(workgroups, time).items():
        tasks[workgroups[workgroup][0]].append(number)
    means = {unit: sum(numbers) / len(numbers) for unit, numbers in tasks.items()}
    mean = sum(means.values()) / len(means)
    return {unit for unit, own in means.items() if own > 1.2 * mean}


def main():
    print("point,rank,microseconds,kind,units,tasks,deviation")
    for path in sys.argv[1:]:
        point = os.path.basename(path).split(".")[0]
        for rank, workgroups in sorted(read(path).items()):
            # Until the first workgroup has no task for a peer any more, all of them share the links.
            until = min(remote for _, _, remote in workgroups.values())
            fast = fast_units(workgroups, until)
            for tenth in range(1, 11):
                numbers = done(workgroups, until * tenth / 10)
                for kind in "slow", "fast":
                    own = [n for w, n in numbers.items() if (workgroups[w][0] in fast) == (kind == "fast")]
                    if not own:
                        continue
                    mean = sum(own) / len(own)
                    deviation = math.sqrt(sum((n - mean) ** 2 for n in own) / len(own))
                    units = len({workgroups[w][0] for w in numbers if (workgroups[w][0] in fast) == (kind == "fast")})
                    print(f"{point},{rank},{until * tenth / 1e4:.1f},{kind},{units},{mean:.2f},{deviation:.2f}")


if __name__ == "__main__":
    main()
