"""egraph_bench: both forms of rule files give the same, and what is wrong is said."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from programs import BIN  # noqa: E402

BENCH = BIN / "egraph_bench"
DATA = pathlib.Path(__file__).parents[1] / "data" / "rewriting"


def bench(*arguments):
    return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class EGraphBenchTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)

    def file(self, text):
        path = self.folder / "file.txt"
        path.write_text(text)
        return path

    def sizes(self, domain, rules):
        ran = bench("--domain", domain, "--fold", "--rules", rules, "--expressions",
                    DATA / "geb" / f"{domain}_d7_s0.txt", "--schedule", "backoff", "--nodes", 500)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        return [line.split()[-1] for line in ran.stdout.splitlines()]

    def test_bare_variables_are_variables(self):
        for domain in ("math", "prop"):
            rules = DATA / "geb" / f"{domain}-rules.txt"
            bare = self.file(rules.read_text().replace("?", ""))
            self.assertEqual(self.sizes(domain, rules), self.sizes(domain, bare))

    def test_steps(self):
        ran = bench("--steps", 2)
        self.assertEqual(["e-nodes", "35", "69", "118"],
                         [line.split()[1] for line in ran.stdout.splitlines()])

    def test_help(self):
        ran = bench("--help")
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        self.assertIn("usage:", ran.stdout)

    def test_wrong_arguments_are_named(self):
        for arguments, message in [
                (["--frobnicate", 1], "--frobnicate: unknown argument"),
                (["--steps", -1], "--steps: wants a number from 0 on, not -1"),
                (["--schedule", "backoff", "--nodes", 0], "--nodes: wants a number from 1 on, not 0"),
                (["--schedule", "backoff", "--steps", 1], "--steps: not with --schedule"),
                (["--matches", 5], "--matches: only with --schedule"),
                (["--domain", "bool"], "--domain: wants math or prop, not bool"),
                (["--rules"], "--rules: wants a value")]:
            ran = bench(*arguments)
            self.assertEqual((2, ""), (ran.returncode, ran.stdout))
            self.assertIn(message, ran.stderr)

    def test_wrong_files_are_named(self):
        file = self.file("# one\n\n(f x)\n(f x y)\n")
        for arguments, message in [
                (["--rules", self.folder], f"{self.folder}: is a directory"),
                (["--rules", self.folder / "no"], f"{self.folder}/no: cannot be read"),
                (["--expressions", file], f"{file}:4: operator f wants 1 arguments, not 2"),
                (["--expressions", file, "--fold"], f"{file}:3: unknown operator f"),
                (["--rules", file], f"{file}:3: expected '=>'"),
                (["--rules", DATA / "geb/math-rules.txt"], "unknown guard nz; ")]:
            ran = bench(*arguments)
            self.assertEqual((1, ""), (ran.returncode, ran.stdout))
            self.assertIn(message, ran.stderr)


if __name__ == "__main__":
    unittest.main()
