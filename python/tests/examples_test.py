"""Tests that every example of python/examples succeeds and writes XML for the requested number of GPUs."""

import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

folder = pathlib.Path(__file__).resolve().parent.parent / "examples"
cases = {
    "ring_all_reduce.py": (["4", "--channels", "2", "--instances", "2", "--protocol", "LL"], 4),
    "node_all_to_all.py": (["2", "4"], 8),
    "gather_to_two.py": (["5"], 5),
}


class Examples(unittest.TestCase):
    def test_all_run(self):
        self.assertEqual(sorted(cases), sorted(path.name for path in folder.glob("*.py")))
        for name, (arguments, ranks) in cases.items():
            with self.subTest(name):
                done = subprocess.run([sys.executable, "-B", folder / name, *arguments], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                root = ElementTree.fromstring(done.stdout)
                self.assertEqual(len(root.findall("gpu")), ranks)


if __name__ == "__main__":
    unittest.main()
