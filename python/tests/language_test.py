"""Tests of the language: the meaning of programs, and the errors of programs that have no meaning."""

import contextlib
import io
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from moire.language import *
from moire.language.collectives import *
from moire.language.routines import *
from moire.topologies import *


def program(collective, topology=None, instances=1, **options):
    return MSCCLProgram("test", topology or fully_connected(collective.num_ranks), collective, instances, **options)


def inst(block):
    return [op.inst for op in block.ops]


class Send(Collective):
    """Copies rank 0's chunks to rank 2's output."""

    def init_buffers(self):
        given = [Chunk(0, i, 2, i) for i in range(self.chunk_factor)]
        nothing = [None] * self.chunk_factor
        return [
            {Buffer.input: given if rank == 0 else list(nothing), Buffer.output: list(nothing)}
            for rank in range(self.num_ranks)
        ]

    def check(self, prog):
        output = prog.buffers[2][Buffer.output]
        return all(held is not None and held.origin_rank == 0 and held.origin_index == i
                   for i, held in enumerate(output))


class Meaning(unittest.TestCase):
    def test_a_copy_over_scratch(self):
        with program(Send(3, 1, False), line(3)):
            chunk(0, Buffer.input, 0).copy(1, "scratch").copy(2, Buffer.output, 0)
            self.assertTrue(Check())

    def test_encoded_chunks(self):
        with program(Broadcast(2, 1, False)):
            chunk(0, Buffer.input, 0).copy(0, Buffer.output, 0)
            encoded = chunk(0, Buffer.input, 0).encode("encoded").copy(1)
            encoded.decode(Buffer.output, 0)
            self.assertTrue(Check())
            self.assertRaises(ProgramError, lambda: encoded.copy(0, Buffer.output, 0).reduce(encoded))

    def test_a_collective_of_ones_own_that_is_not_met(self):
        with program(Send(3, 2, False)):
            chunk(0, Buffer.input, 0).copy(2, Buffer.output, 0)
            self.assertRaises(ProgramError, Check)

    def test_built_in_collectives(self):
        with program(AllGather(2, 1, True)):
            chunk(0, Buffer.input, 0).copy(1, Buffer.output, 0)
            chunk(1, Buffer.input, 0).copy(0, Buffer.output, 1)
            self.assertTrue(Check())
        with program(ReduceScatter(2, 1, True)):
            chunk(1, Buffer.input, 1).reduce(chunk(0, Buffer.input, 1))
            chunk(0, Buffer.input, 0).reduce(chunk(1, Buffer.input, 0))
            self.assertTrue(Check())
        with program(AllToAll(2, 1, False)):
            for source in range(2):
                for target in range(2):
                    c = chunk(source, Buffer.input, target)
                    self.assertEqual((c.get_dst_rank(), c.get_dst_index()), (target, source))
                    c.copy(target, Buffer.output, source)
            self.assertTrue(Check())
        with program(AllReduce(2, 2, True)):
            chunk(1, Buffer.output, 0).reduce(chunk(0, Buffer.input, 0)).copy(0, Buffer.input, 0)
            chunk(0, Buffer.input, 1).reduce(chunk(1, Buffer.input, 1)).copy(1, Buffer.input, 1)
            self.assertTrue(Check())
        with program(Broadcast(2, 1, False, root=1)):
            c = chunk(1, Buffer.input, 0)
            c.copy(1, Buffer.output, 0)
            c.copy(0, Buffer.output, 0)
            self.assertTrue(Check())
        with program(SendRecv(2, 1, False)):
            chunk(0, Buffer.input, 0).copy(1, Buffer.output, 0)
            chunk(1, Buffer.input, 0).copy(0, Buffer.output, 0)
            self.assertTrue(Check())

    def test_check_says_what_is_wrong(self):
        said = io.StringIO()
        with program(AllReduce(2, 1, True)), contextlib.redirect_stderr(said):
            chunk(0, Buffer.input, 0).copy(1, Buffer.input, 0)
            self.assertRaises(ProgramError, Check)
        self.assertIn("rank 0 output[0] holds rank 0 [0] instead of the sum of [0] over all ranks", said.getvalue())

    def test_a_script_whose_check_fails_fails(self):
        script = ("from moire.language import *\nfrom moire.language.collectives import AllReduce\n"
                  "from moire.topologies import fully_connected\n"
                  "with MSCCLProgram('pair', fully_connected(2), AllReduce(2, 1, True), 1):\n"
                  "    chunk(0, Buffer.input, 0).copy(1, Buffer.input, 0)\n    Check()\n")
        done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("instead of the sum of [0]", done.stderr)

    def test_scratch_without_an_index_grows(self):
        with program(AllReduce(3, 3, False)) as made:
            self.assertEqual(chunk(0, Buffer.input, 0).copy(2, "scratch", 2).index, 2)
            self.assertEqual(chunk(1, Buffer.input, 0).copy(2, "scratch").index, 3)
            self.assertEqual(len(made.buffers[2]["scratch"]), 4)
            self.assertIsNone(made.buffers[2]["scratch"][0])
            self.assertEqual(made.buffers[2]["scratch"][3], Chunk(1, 0))

    def test_scratch_names_are_kept_apart(self):
        with program(AllReduce(2, 1, False)) as made:
            chunk(0, Buffer.input, 0).copy(1, ("a", 1))
            chunk(0, Buffer.input, 0).copy(1, "('a', 1)")
            self.assertEqual(len(made.buffers[1][("a", 1)]), 1)
            self.assertEqual(len(made.buffers[1]["('a', 1)"]), 1)

    def test_buffers_hold_sums(self):
        with program(AllReduce(2, 1, True)) as made:
            chunk(0, Buffer.input, 0).reduce(chunk(1, Buffer.input, 0))
            want = ReduceChunk(-1, [Chunk(1, 0), Chunk(0, 0)])
            self.assertEqual(made.buffers[0][Buffer.input][0], want)
            self.assertEqual(made.buffers[0][Buffer.output][0], want)
            self.assertNotEqual(made.buffers[1][Buffer.input][0], want)

    def test_one_list_is_one_buffer(self):
        class Both(Collective):
            def init_buffers(self):
                lists = [[Chunk(rank, 0)] for rank in range(2)]
                return [{Buffer.input: one, Buffer.output: one} for one in lists]

        with program(Both(2, 1, True)) as made:
            chunk(0, Buffer.input, 0).copy(1, Buffer.output, 0)
            self.assertEqual(made.buffers[1][Buffer.input][0], Chunk(0, 0))

    def test_split_and_group(self):
        with program(AllReduce(2, 6, True)):
            first, second, third = chunk(0, Buffer.input, 0, 6).split(3)
            self.assertEqual((second.index, second.size), (2, 2))
            both = third.group(second)
            self.assertEqual((both.index, both.size), (2, 4))

    def test_routines(self):
        with program(AllGather(4, 1, True)):
            allgather_ring_inplace(4)
            self.assertTrue(Check())
        with program(AllReduce(4, 4, True)):
            allreduce_ring_inplace(4)
            self.assertTrue(Check())


class Compiled(unittest.TestCase):
    def test_fusion(self):
        made = program(AllReduce(3, 3, True), threadblock_policy=ThreadblockPolicy.manual)
        block = {"sendtb": 0, "recvtb": 0, "ch": 0}
        with made:
            c = chunk(1, Buffer.input, 0, 3).reduce(chunk(0, Buffer.input, 0, 3), **block)
            c = chunk(2, Buffer.input, 0, 3).reduce(c, **block)
            c.copy(0, Buffer.input, 0, **block).copy(1, Buffer.input, 0, **block)
            self.assertTrue(Check())
        gpus = made.lower().gpus
        self.assertEqual(inst(gpus[0].threadblocks[0]), [Instruction.send, Instruction.recv_copy_send])
        self.assertEqual(inst(gpus[1].threadblocks[0]), [Instruction.recv_reduce_send, Instruction.recv])
        self.assertEqual(inst(gpus[2].threadblocks[0]), [Instruction.recv_reduce_copy_send])

    def test_instances_multiply_blocks(self):
        blocks = {}
        for instances in (1, 2):
            with program(AllToAll(2, 1, False), instances=instances) as made:
                for source in range(2):
                    for target in range(2):
                        chunk(source, Buffer.input, target).copy(target, Buffer.output, source)
            blocks[instances] = len(made.lower().gpus[0].threadblocks)
        self.assertEqual(blocks[2], 2 * blocks[1])

    def test_the_same_bytes_as_from_cpp(self):
        shipped = pathlib.Path(__file__).resolve().parents[2] / "configs/algorithms/4gpu_all_reduce_ring.xml"
        n, channels = 4, 2
        with MSCCLProgram("all_reduce_ring", fully_connected(n), AllReduce(n, n, True), 2) as made:
            for hop in range(n - 1):
                for index in range(n):
                    c = chunk((index + hop) % n, Buffer.input, index)
                    chunk((index + hop + 1) % n, Buffer.input, index).reduce(c, ch=index % channels)
            for hop in range(n - 1, 2 * n - 2):
                for index in range(n):
                    chunk((index + hop) % n, Buffer.input, index).copy((index + hop + 1) % n, ch=index % channels)
        self.assertEqual(made.generate_xml(), shipped.read_text())

    def test_parallelize(self):
        with program(AllReduce(2, 1, True)) as made:
            with parallelize(3):
                chunk(0, Buffer.input, 0).copy(1, Buffer.input, 0)
        root = ElementTree.fromstring(made.generate_xml())
        self.assertEqual(root.get("nchunksperloop"), "3")
        self.assertEqual(len(root.find("gpu").findall("tb")), 3)

    def test_xml(self):
        said = io.StringIO()
        with program(AllReduce(2, 1, True), protocol="LL128", min_bytes=4, max_bytes=8):
            chunk(0, Buffer.input, 0).reduce(chunk(1, Buffer.input, 0)).copy(1, Buffer.input, 0)
            with contextlib.redirect_stdout(said):
                XML()
        root = ElementTree.fromstring(said.getvalue())
        for key, value in {
            "name": "test", "proto": "LL128", "nchannels": "1", "nchunksperloop": "1", "ngpus": "2",
            "coll": "allreduce", "inplace": "1", "outofplace": "0", "minBytes": "4", "maxBytes": "8",
        }.items():
            self.assertEqual(root.get(key), value, key)


class Errors(unittest.TestCase):
    def assert_error(self, text, act):
        with self.assertRaises(ProgramError) as caught:
            act()
        self.assertIn("language_test.py:", str(caught.exception))
        self.assertIn(text, str(caught.exception))

    def test_name_the_statement(self):
        with program(AllReduce(2, 2, True), line(2)):
            self.assert_error("nothing was written", lambda: chunk(0, "scratch", 0))
            self.assert_error("outside the buffer", lambda: chunk(0, Buffer.input, 2))
            self.assert_error("there is no rank 5; the program has 2", lambda: chunk(0, Buffer.input, 0).copy(5))
            self.assert_error("split into 2 equal parts", lambda: chunk(0, Buffer.input, 0).split(2))
            before = chunk(1, Buffer.input, 0)
            chunk(0, Buffer.input, 0).copy(1, Buffer.input, 0)
            self.assert_error("before it was overwritten", lambda: before.copy(0, Buffer.input, 1))

    def test_no_link(self):
        with program(AllReduce(3, 1, True), line(3)):
            self.assert_error("no link from rank 0 to rank 2", lambda: chunk(0, Buffer.input, 0).copy(2))

    def test_blocks_with_two_peers(self):
        with program(AllToAll(3, 1, False), threadblock_policy=ThreadblockPolicy.manual) as made:
            chunk(0, Buffer.input, 0).copy(1, Buffer.output, 0, sendtb=0, recvtb=1)
            chunk(0, Buffer.input, 1).copy(2, Buffer.output, 0, sendtb=0, recvtb=1)
            self.assert_error("cannot serve rank 2 too", made.generate_xml)

    def test_no_program_in_context(self):
        with self.assertRaises(RuntimeError):
            chunk(0, Buffer.input, 0)
        with program(AllReduce(2, 1, True)):
            with self.assertRaises(RuntimeError):
                program(AllReduce(2, 1, True)).__enter__()

    def test_a_failed_program_leaves_the_context(self):
        with self.assertRaises(ZeroDivisionError):
            with program(AllReduce(2, 1, True)):
                raise ZeroDivisionError
        with program(AllReduce(2, 1, True)):
            pass


if __name__ == "__main__":
    unittest.main()
