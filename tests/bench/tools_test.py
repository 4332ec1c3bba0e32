"""Tools in Python say what they are for when they are asked, and do nothing else."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WANTS_PROGRAMS = re.compile(r"^(from programs import BIN|import harness)\b", re.MULTILINE)
FOLDERS = ("deploy", "tests/bench", "tests/deploy", "tests/e2e")
MOST_SECONDS = 60  # Help takes a second or two, most of them for numpy and onnx.


def tools():
    """Programs that are no tests: CTest does not run them, a person does."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if '__name__ == "__main__"' in path.read_text() and not path.name.endswith("_test.py"):
                yield path


def run(*words, **settings):
    """In a folder of its own, without the programs of a build."""
    env = {name: value for name, value in os.environ.items() if name != "QUOTIENT_BIN_DIR"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=MOST_SECONDS, check=False, **settings)
        return done, os.listdir(folder)


class ToolsTest(unittest.TestCase):
    def test_each_has_help(self):
        known = list(tools())
        self.assertGreater(len(known), 15)
        for tool in known:
            with self.subTest(tool.relative_to(ROOT)):
                done, left = run(tool, "--help")
                self.assertEqual((done.returncode, done.stderr, left), (0, "", []))
                self.assertTrue(done.stdout.startswith("usage: "), done.stdout)

    def test_without_programs_one_line_says_so(self):
        wanting = [path for path in (ROOT / "tests" / "bench").rglob("*.py") if WANTS_PROGRAMS.search(path.read_text())]
        self.assertGreater(len(wanting), 8)
        for path in wanting:
            with self.subTest(path.relative_to(ROOT)):
                done, left = run(path)
                self.assertEqual((done.returncode, done.stdout, left), (2, "", []))
                self.assertRegex(done.stderr, r"\A[^\n]*QUOTIENT_BIN_DIR is not set[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
