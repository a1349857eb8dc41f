#!/usr/bin/env python3
"""Checks that compiled code issues whole batches of row loads. Reads the disassembly (cuobjdump, from the CUDA toolkit).

Usage: check_batches.py PROGRAM [CUOBJDUMP]     exit status 1 if an embedding kernel has a batch that is not 8 loads
with no float arithmetic between them. Every kernel has two: the full batch, and the predicated one for the last rows.
"""
import re
import subprocess
import sys

ROW_LOAD = re.compile(r"\bLDG\.E\S*\.NA\S*\.128|\bLDG\.E\S*\.128\S*\.NA|\bLDG\.E\.NA\.128")
ARITHMETIC = re.compile(r"\b(FADD2?|HADD2\S*|FFMA2?)\s")


def batches(instructions):
    """Lengths of the runs of row loads that no arithmetic interrupts."""
    lengths, run = [], 0
    for line in instructions:
        if ROW_LOAD.search(line):
            run += 1
        elif run and ARITHMETIC.search(line):
            lengths.append(run)
            run = 0
    return lengths + [run] if run else lengths


def main(program, cuobjdump="cuobjdump"):
    text = subprocess.run([cuobjdump, "-sass", program], check=True, stdout=subprocess.PIPE).stdout.decode()
    kernels, split = 0, 0
    for part in text.split("Function : ")[1:]:
        name, _, body = part.partition("\n")
        template = re.search(r"\d((?:un)?fused_kernel)IL5Dtype(\d)ELi(\d)ELb(\d)E", name)
        if not template:
            continue
        kernels += 1
        found = batches(body.splitlines())
        good = found == [8, 8]
        split += not good
        kernel, dtype, bags, record = template.groups()
        print(f"{'ok   ' if good else 'SPLIT'} {kernel:15} {('fp32', 'fp16', 'bf16')[int(dtype)]} "
              f"bags {bags}{' recording' if record == '1' else ''}: {found}")
    if kernels == 0:
        print(f"{program}: no embedding kernel found", file=sys.stderr)
    return 1 if split or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
