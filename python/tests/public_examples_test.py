"""Tests that programs for the public compiler (msccl-tools) run if their imports name this package. The programs are
the examples in the checkout of msccl-tools that the environment variable MOIRE_MSCCL_TOOLS names. Exit status 77 means
that no checkout is named."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

if not os.environ.get("MOIRE_MSCCL_TOOLS"):
    print("skipped: MOIRE_MSCCL_TOOLS does not name a checkout of the public compiler")
    sys.exit(77)
folder = pathlib.Path(os.environ["MOIRE_MSCCL_TOOLS"]) / "examples" / "mscclang"

cases = [
    ("allgather_a100_pcie", "4 2"), ("allgather_allpairs", "8 2"), ("allgather_recursive_doubling", "8 1"),
    ("allgather_ring", "8 2 2"), ("allreduce_1step", "8 1"), ("allreduce_a100_allpairs", "8 2"),
    ("allreduce_a100_allpairs_v2", "8 2"), ("allreduce_a100_multinode_allpairs", "8 1"),
    ("allreduce_a100_ncv4", "4 2"), ("allreduce_a100_ncv4_v2", "4 4"),
    ("allreduce_a100_ring", "8 4 2"), ("allreduce_binomial_tree", "8 2 1"),
    ("allreduce_recursive_doubling_halving", "8 2"), ("alltoall_a100_three_step", "3 4 1"),
    ("alltoall_a100_three_step", "3 4 2"), ("alltoall_a100_two_step", "2 8"), ("alltoall_allpairs", "8 2"),
    ("alltonext_backward", "3 1"), ("alltonext_backward", "4 2"), ("alltonext_forward", "2 2"),
    ("hierarchical_allreduce", "4 4 1"), ("hierarchical_allreduce", "4 2 1 --schedule manual"),
    ("pipeline_a100_allpairs", "4 1"), ("pipeline_a100_ring", "4 2 1"), ("reducescatter_allpairs", "8"),
    ("simple/allgather_ring", ""), ("simple/allreduce_ring", "4 2"), ("simple/custom_collective", ""),
]
# These programs have errors. The public compiler refuses them, too.
refused = {
    "allreduce_a100_pcie_hierarchical": ("8 1", "instead of the sum of"),
    "allreduce_a100_recursive_doubling_halving": ("1 1", "there is no rank 4; the program has 4 ranks"),
}
# These programs use methods that the public compiler has removed: send, and reduce with a place.
outdated = {"allreduce_dgx1", "allreduce_ndv2", "reducegather"}


def run(name, arguments, into):
    text = (folder / f"{name}.py").read_text()
    text = re.sub(r"^(\s*(?:from|import)\s+)msccl\b", r"\1moire", text, flags=re.MULTILINE)
    script = pathlib.Path(into) / (name.replace("/", "_") + ".py")
    script.write_text(text)
    done = subprocess.run([sys.executable, "-B", script, *arguments.split()], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    documents = re.findall(r"<algo .*?</algo>", done.stdout, flags=re.DOTALL)
    if not documents:
        return "no XML"
    for document in documents:
        ElementTree.fromstring(document)
    rest = re.sub(r"<algo .*?</algo>", "", done.stdout, flags=re.DOTALL).strip()
    return f"it says {rest!r}" if rest else None


known = {name for name, _ in cases} | set(refused) | outdated
found = {str(path.relative_to(folder))[:-3] for path in folder.glob("*.py")} | {
    f"simple/{path.stem}" for path in (folder / "simple").glob("*.py")
}
failed = 0
for name in sorted(found - known):
    print(f"{name}: an example that this test does not know")
    failed += 1
with tempfile.TemporaryDirectory() as into:
    for name, arguments in cases:
        wrong = run(name, arguments, into)
        print(f"{name} {arguments}: {wrong or 'runs'}")
        failed += wrong is not None
    for name, (arguments, text) in refused.items():
        wrong = run(name, arguments, into)
        print(f"{name} {arguments}, to be refused: {wrong}")
        failed += wrong is None or text not in wrong
sys.exit(1 if failed else 0)
