"""rewrite_bench: what it prints adds up, and what is wrong is said."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from programs import BIN  # noqa: E402

BENCH = BIN / "rewrite_bench"
DATA = pathlib.Path(__file__).parents[1] / "data/rewriting/geb"


def bench(*arguments, cwd=None):
    return subprocess.run([BENCH.resolve(), *map(str, arguments)], capture_output=True, text=True,
                          timeout=100, cwd=cwd)


class RewriteBenchTest(unittest.TestCase):
    def lines(self, *arguments):
        ran = bench(*arguments)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        return [line.split("\t") for line in ran.stdout.splitlines()]

    def test_every_strategy_makes_terms_smaller(self):
        refused = bench("x", "--strategy", "none").stderr
        strategies = re.search(r"--strategy: wants ([\w ]+)", refused)[1].split(" or ")
        self.assertIn("mcts", strategies)
        for strategy in strategies:
            file = DATA / "prop_d7_s0.txt"
            (line,) = self.lines("--domain", "prop", "--rules", DATA / "prop-rules.txt", "--strategy",
                                 strategy, "--nodes", 500, "--simulations", 600, "--budget", "60s", file)
            self.assertEqual(str(file), line[0])
            self.assertEqual(6, len(line))
            self.assertLess(float(line[2]), float(line[1]))

    def test_a_line_per_file_with_its_sums(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "terms.txt"
            file.write_text("# two\n(+ a (* 0 a))\n(- (+ 1 1) 2)\n")
            lines = self.lines("--rules", DATA / "math-rules.txt", "--each", "--terms", file)
        self.assertEqual([f"{file}:2", f"{file}:3", str(file)], [line[0] for line in lines])
        self.assertEqual(["1", "1", "2"], [line[2] for line in lines])
        self.assertEqual(["a", "0"], [line[6] for line in lines[:2]])

    def test_wrong_arguments_are_named(self):
        for arguments, message in [
                ([], "FILE: is missing"),
                (["x", "--strategy", "best"], "--strategy: wants mcts or saturate"),
                (["x", "--domain", "physics"], "--domain: wants math or prop"),
                (["x", "--nodes", 0], "--nodes: wants a number from 1 on, not 0"),
                (["x", "--budget", "soon"], "soon")]:
            ran = bench(*arguments)
            self.assertEqual((2, ""), (ran.returncode, ran.stdout))
            self.assertIn(message, ran.stderr)

    def test_wrong_files_are_named(self):
        ran = bench("--rules", DATA / "math-rules.txt", "nowhere.txt")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("nowhere.txt", ran.stderr)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "terms.txt"
            file.write_text("(+ a 0)\n(+ ?x 0)\n")
            ran = bench("--rules", DATA / "math-rules.txt", file)
            self.assertEqual((1, ""), (ran.returncode, ran.stdout))
            self.assertIn(f"{file}:2: ?x: only rules have variables", ran.stderr)
            ran = bench(file, cwd=folder)
            self.assertEqual((1, ""), (ran.returncode, ran.stdout))
            self.assertIn("math-rules.txt: cannot be read; not in the repository's root?",
                          ran.stderr)
            ran = bench("--rules", "no", file)
            self.assertNotIn("root", ran.stderr)


if __name__ == "__main__":
    unittest.main()
