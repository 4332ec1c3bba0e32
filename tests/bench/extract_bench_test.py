"""extract_bench: costs are right, and what is wrong is said, with the names of whoever wrote it."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from programs import BIN  # noqa: E402

BENCH = BIN / "extract_bench"
VGG = pathlib.Path(__file__).parents[1] / "data/egraphs/tensat/vgg_acyclic.json.gz"


def bench(*arguments):
    return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class ExtractBenchTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def rows(self, *arguments):
        ran = bench(*arguments)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        return [line.split() for line in ran.stdout.splitlines()[1:]]

    def test_all_extractors(self):
        rows = self.rows(VGG)
        self.assertEqual(["tree", "history", "dag", "ilp", "exact"], [row[1] for row in rows])
        exact = rows[-1]
        self.assertAlmostEqual(4.86677, float(exact[2]), places=5)
        self.assertEqual("proven", exact[4])
        self.assertEqual("100.0", rows[0][4])  # tree proves nothing

    def test_several(self):
        rows = self.rows(VGG, "--extractor", "exact", "--several", 4)
        costs = [float(row[2]) for row in rows]
        self.assertEqual(4, len(costs))
        self.assertEqual(sorted(costs), costs)

    def test_fewer_than_several_is_told(self):
        path = self.file("one", json.dumps({"nodes": {"a": {"op": "x", "eclass": "A"}},
                                            "root_eclasses": ["A"]}))
        ran = bench(path, "--extractor", "exact", "--several", 3)
        self.assertEqual((0, 2), (ran.returncode, len(ran.stdout.splitlines())))
        self.assertIn(f"{path}: exact: note: 1 found, not 3", ran.stderr)

    def test_names_of_files_cannot_control_the_terminal(self):
        path = self.file("\x1b[2J", json.dumps({"nodes": {"a": {"op": "x", "eclass": "A"}},
                                                "root_eclasses": ["A"]}))
        ran = bench(path, "\x1b[2Jno")
        self.assertEqual((1, 6), (ran.returncode, len(ran.stdout.splitlines())))
        self.assertNotIn("\x1b", ran.stdout + ran.stderr)

    def test_help(self):
        for word in ("--help", "-h"):
            ran = bench(word)
            self.assertEqual((0, ""), (ran.returncode, ran.stderr))
            for option in ("--extractor", "--seconds", "--device", "--nodes", ".onnx"):
                self.assertIn(option, ran.stdout)

    def test_wrong_arguments_are_named_before_anything_runs(self):
        for arguments, message in [
                ([], "FILE: is missing"),
                ([VGG, "-x"], "-x: unknown argument"),
                ([VGG, "--frobnicate", 1], "--frobnicate: unknown argument"),
                ([VGG, "--extractor", "best"], "--extractor: wants tree or history or dag"),
                ([VGG, "--seconds", "nan"], "--seconds: wants a number above 0, not nan"),
                ([VGG, "--repeat", 0], "--repeat: wants a number from 1 on, not 0"),
                ([VGG, "--nodes"], "--nodes: wants a value"),
                ([VGG, "--nodes", 5], "--nodes: only for models"),
                ([VGG, "--device", "model:h200"], "--device: only for models"),
                (["x.onnx", "--device", "model:nope"], "--device: wants model:h200")]:
            ran = bench(*arguments)
            self.assertEqual((2, ""), (ran.returncode, ran.stdout))
            self.assertIn(f"extract_bench: {message}", ran.stderr)

    def test_wrong_files_are_named_once_and_the_rest_is_run(self):
        loop = {"nodes": {"a": {"op": "x", "eclass": "A"},
                          "b": {"op": "x", "eclass": "the b", "children": ["b"]}},
                "root_eclasses": ["A", "the b"]}
        for path, message in [
                (self.folder, "is a directory"),
                (self.folder / "no", "No such file or directory"),
                (self.file("empty", ""), "is empty"),
                (self.file("x.onnx", "x"), ""),
                (self.file("cut", '{"nodes": {'), "parse error at line 1, column 12"),
                (self.file("loop", json.dumps(loop)),
                 'root class "the b" has no finite, acyclic selection')]:
            ran = bench(path, VGG, "--extractor", "tree")
            self.assertEqual(1, ran.returncode)
            self.assertEqual(2, len(ran.stdout.splitlines()))
            self.assertTrue(ran.stderr.startswith(f"extract_bench: {path}: {message}"), ran.stderr)
            self.assertEqual((1, 1), (ran.stderr.count("\n"), ran.stderr.count(str(path))))


if __name__ == "__main__":
    unittest.main()
