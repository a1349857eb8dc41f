#!/usr/bin/env python3
"""Checks that compiled code issues whole batches of row loads. Reads the disassembly (cuobjdump, from the CUDA toolkit).

Usage: check_batches.py PROGRAM [CUOBJDUMP]     exit status 1 if an embedding kernel has a batch that is not 8 loads
with no float arithmetic between them. Every kernel has two: the full batch, and the predicated one for the last rows.
Between loads of a batch, the code can also wait for a scoreboard of an earlier load of the batch, because a wavefront
has only six. This is no error, but the printed list has the loads before and after such waits, such as [4, 4].
"""
import re
import subprocess
import sys

# An instruction takes 16 bytes, which are printed as two words on two lines.
CODE = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(.*?);\s+/\* 0x[0-9a-f]+ \*/\n\s+/\* (0x[0-9a-f]+) \*/")
ROW_LOAD = re.compile(r"\bLDG\.E\S*\.NA\S*\.128|\bLDG\.E\S*\.128\S*\.NA|\bLDG\.E\.NA\.128")
ARITHMETIC = re.compile(r"\b(FADD2?|HADD2\S*|FFMA2?)\s")


def decoded(body):
    """Instructions: their text, the scoreboard that they hold until their result is there, and those they wait for."""
    for text, word in CODE.findall(body):
        control = int(word, 16) >> 41
        yield text, control >> 5 & 7, [board for board in range(6) if control >> 11 + board & 1]


def batches(body):
    """Batches of row loads with no arithmetic between them, each as the loads between two waits for loads of it."""
    found, parts, held = [], [], set()
    for text, board, waits in decoded(body):
        if ROW_LOAD.search(text):
            if not parts or held & set(waits):
                parts.append(0)
                held -= set(waits)
            parts[-1] += 1
            held.add(board)
        elif parts and ARITHMETIC.search(text):
            found.append(parts)
            parts, held = [], set()
        elif parts and held & set(waits):
            parts.append(0)
            held -= set(waits)
    found = found + [parts] if parts else found
    return [[loads for loads in parts if loads] for parts in found]


def main(program, cuobjdump="cuobjdump"):
    text = subprocess.run([cuobjdump, "-sass", program], check=True, stdout=subprocess.PIPE).stdout.decode()
    kernels, split = 0, 0
    for part in text.split("Function : ")[1:]:
        name, _, body = part.partition("\n")
        template = re.search(r"\d((?:un)?fused_kernel)IL5Dtype(\d)ELi(\d)ELb(\d)E", name)
        if not template:
            continue
        kernels += 1
        found = batches(body)
        good = [sum(parts) for parts in found] == [8, 8]
        split += not good
        kernel, dtype, bags, record = template.groups()
        print(f"{'ok   ' if good else 'SPLIT'} {kernel:15} {('fp32', 'fp16', 'bf16')[int(dtype)]} "
              f"bags {bags}{' recording' if record == '1' else ''}: {found}")
    if kernels == 0:
        print(f"{program}: no embedding kernel found", file=sys.stderr)
    return 1 if split or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
