"""Hostile files, one after the other, here and on a server: each gets the answer of its table, and the server serves
somebody else meanwhile.

  hostile_test.py HostileTest.test_tensors       one table of all_cases.py
"""

import contextlib
from concurrent import futures
import pathlib
import sys
import threading
import unittest

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import harness  # noqa: E402
import models  # noqa: E402

import all_cases  # noqa: E402
from arena import OPTIONS, Arena  # noqa: E402


class HostileTest(harness.TestCase):
    """Has two tests for each table, made below."""

    def test_each_file_has_an_answer(self):
        self.assertEqual(sorted(all_cases.ANSWERS),
                         sorted((table, case.name) for table, cases in all_cases.TABLES.items() for case in cases))

    def answer(self, table, *mode):
        arena = Arena(self.folder, self.quotient)
        for case in all_cases.TABLES[table]:
            with self.subTest(case.name):
                answer = all_cases.ANSWERS[table, case.name]
                self.assertEqual(arena.send(case, *mode).problem(answer), "")

    @contextlib.contextmanager
    def somebody_else(self, server):
        """A client that has its model optimized, asks how the server is, and so on; it is always answered."""
        model = self.folder / "good.onnx"
        onnx.save(models.conv_bn_relu(1), model)
        done = threading.Event()

        def go_on():
            answers = []
            while not done.is_set() or not answers:
                result = self.quotient("optimize", model, "-o", self.folder / "good_out.onnx", *OPTIONS, "--seed",
                                       len(answers))
                answers.append((result.code, *(server.page(page)[0] for page in ("/livez", "/readyz"))))
            return answers

        with futures.ThreadPoolExecutor() as pool:
            answers = pool.submit(go_on)
            try:
                yield
            finally:
                done.set()
            self.assertEqual([answer for answer in answers.result() if answer != (0, 200, 200)], [])

    def survive(self, table):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        with self.somebody_else(server):
            self.answer(table)
        self.assertIsNone(server.process.poll())
        # No process had to be ended, or ended without a word: those would be cases that are not understood.
        for line in server.metrics().splitlines():
            if line.startswith("quotient_job_processes_total") and ("died" in line or "killed" in line):
                self.assertEqual(line.split()[-1], "0", line)


def add_tests():
    for table in all_cases.TABLES:
        setattr(HostileTest, f"test_{table}", lambda self, table=table: self.survive(table))
        setattr(HostileTest, f"test_{table}_here", lambda self, table=table: self.answer(table, "--local"))


add_tests()


if __name__ == "__main__":
    unittest.main()
