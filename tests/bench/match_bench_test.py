"""match_bench: a line per model with plausible figures, and what is wrong is said."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from programs import BIN  # noqa: E402

BIN = BIN.resolve()


def bench(*arguments):
    return subprocess.run([BIN / "match_bench", *map(str, arguments)], capture_output=True, text=True, timeout=100)


class MatchBenchTest(unittest.TestCase):
    def test_a_line_per_model(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name in ("squeezenet", "nasrnn"):
                files.append(f"{folder}/{name}.onnx")
                subprocess.run([BIN / "make_network", name, "--paper", "-o", files[-1]], check=True)
            rules = pathlib.Path(folder) / "some.rules"
            rules.write_text("relu-relu: Relu(Relu(?x)) => Relu(?x) if float(?x)\nAdd(?x, ?y) => Add(?y, ?x)\n")
            costs = {}
            for idle in ([], ["--copies", 2], ["--idle", 1], ["--idle-rules", rules]):
                ran = bench(*files, "--nodes", 300, "--paths", 2, "--simulations", 20, "--search-nodes", 600, *idle)
                self.assertEqual((0, ""), (ran.returncode, ran.stderr))
                lines = [line.split() for line in ran.stdout.splitlines()]
                self.assertEqual(["file", *files], [line[0] for line in lines])
                for line in lines[1:]:
                    self.assertGreater(float(line[1]), 20)
                    self.assertTrue(all(float(figure) > 0 for figure in line[2:]), line)
                    # Idle rules change no answer.
                    self.assertEqual(costs.setdefault(line[0], line[-1]), line[-1])

    def test_wrong_arguments_are_named(self):
        for arguments, status, message in [
                ([], 2, "FILE: is missing"),
                (["x.onnx", "--copies", 0], 2, "--copies: wants a number from 1 on, not 0"),
                (["nowhere.onnx"], 1, "nowhere.onnx")]:
            ran = bench(*arguments)
            self.assertEqual(status, ran.returncode)
            self.assertIn(message, ran.stderr)


if __name__ == "__main__":
    unittest.main()
