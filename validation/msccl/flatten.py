#!/usr/bin/env python3
"""Turns MSCCL XML files into the one table that the CUDA programs read.

Usage: flatten.py FILE.xml... > plans.txt

The files come from our own compiler and from micro.py; `moire check` checks other files. This script refuses features
that the interpreter does not have: LL128, and collectives without a stated result.
"""

import os
import sys
import xml.etree.ElementTree

COLLS = {"allreduce", "allgather", "alltoall", "reducescatter", "broadcast", "reduce", "custom"}


def words(element, *names):
    return " ".join(element.attrib[name] for name in names)


def flatten(path):
    algo = xml.etree.ElementTree.parse(path).getroot()
    coll = algo.attrib["coll"].replace("reduce_scatter", "reducescatter")
    if coll not in COLLS:
        raise ValueError(f"collective {coll} is not interpreted")
    if algo.attrib["proto"] not in ("Simple", "LL"):
        raise ValueError(f"protocol {algo.attrib['proto']} is not interpreted")
    places = f"{algo.attrib.get('inplace', '0')} {algo.attrib.get('outofplace', '1')}"
    lines = [
        f"algo {os.path.basename(path)} {coll} " + words(algo, "proto", "ngpus", "nchannels", "nchunksperloop") + " " + places
    ]
    for gpu in algo.findall("gpu"):
        lines.append("gpu " + words(gpu, "id", "i_chunks", "o_chunks", "s_chunks"))
        for block in gpu.findall("tb"):
            lines.append("tb " + words(block, "id", "send", "recv", "chan"))
            for position, step in enumerate(block.findall("step")):
                if int(step.attrib["s"]) != position:
                    raise ValueError(f"gpu {gpu.attrib['id']} tb {block.attrib['id']}: step {position} is out of order")
                lines.append(
                    "step "
                    + words(step, "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep")
                )
    return lines


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    good = True
    for path in sys.argv[1:]:
        try:
            print("\n".join(flatten(path)))
        except (KeyError, ValueError, OSError, xml.etree.ElementTree.ParseError) as error:
            print(f"flatten.py: {path}: {error}", file=sys.stderr)
            good = False
    sys.exit(0 if good else 2)


main()
