"""quotient-rules check: every rule has a certificate, and what is wrong is said."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = (pathlib.Path(os.environ["QUOTIENT_BIN_DIR"]) / "quotient-rules").resolve()
ROOT = pathlib.Path(__file__).parents[3]


def check(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=900, cwd=ROOT)


class QuotientRulesTest(unittest.TestCase):
    def test_every_rule_is_certified(self):
        with tempfile.TemporaryDirectory() as folder:
            recorded = pathlib.Path(folder) / "certificates.txt"
            ran = check("check", "--record", recorded)
            self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
            lines = [line.split("\t") for line in recorded.read_text().splitlines()]
            now = [line[:2] for line in lines]
            without_symbols = [line[0] for line in lines if int(line[4]) == 0]
        kept = (ROOT / "core/rules/certificates.txt").read_text()
        self.assertEqual([line.split("\t")[:2] for line in kept.splitlines()], now,
                         "quotient-rules check --record core/rules/certificates.txt")
        self.assertEqual([], without_symbols)
        counts = dict(reversed(line.split(" ", 1)) for line in ran.stdout.splitlines() if re.match(r"\d", line))
        self.assertEqual({"exact", "exact for any function", "numeric"}, set(counts))
        self.assertGreaterEqual(int(counts["exact"]), 90)
        # Each of these relies on what a function is, on a fact about its operand, or on rounding, but for one whose Pad
        # equations cannot say.
        self.assertLessEqual(int(counts["numeric"]), 24)

    def test_one_rule_by_name(self):
        ran = check("check", "conv-sum", "--instances", 5, "--seed", 3)
        self.assertEqual(0, ran.returncode)
        self.assertRegex(ran.stdout, r"^conv-sum +exact +5 +5 +3 ")

    def test_guards_of_a_rule(self):
        ran = check("guards", "mul-one", "conv-sum", "--instances", 10)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        self.assertRegex(ran.stdout, r"(?m)^mul-one +is\(\?c, 1\) +needed$")
        self.assertRegex(ran.stdout, r"(?m)^conv-sum +before\(\?a, \?b\) +not refuted$")

    def test_rules_of_predecessors(self):
        ran = check("predecessors", "--instances", 5, "--seed", 1)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^single-114 +repaired +derived for weights +5  conv")
        self.assertRegex(ran.stdout, r"(?m)^96 sound$")
        self.assertRegex(ran.stdout, r"(?m)^43 repaired$")

    def test_generate_finds_a_rule_that_was_taken_away(self):
        arguments = ["generate", "--operators", "activations", "--size", 2, "--device", "model:h200", "--instances", 5]
        ran = check(*arguments)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        self.assertNotIn("neg-neg:", ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^activations( +\d+){13}$")
        self.assertRegex(ran.stdout, r"(?m)^# taso-rules-images: of \d+ sound rules of TASO, \d+ follow")
        ran = check(*arguments, "--without", "neg-neg")
        self.assertRegex(ran.stdout, r"(?m)^# exact, .*pays: us \d+ -> 0\nneg-neg: Neg\(Neg\(\?x\)\) => \?x$")

    def test_wrong_arguments_are_named(self):
        for arguments, message in [([], "COMMAND: wants check, guards, predecessors, generate or soak"), (["check", "no-rule"], "no rule is called no-rule"),
                                   (["generate", "--without", "no-rule"], "no rule is called no-rule")]:
            ran = check(*arguments)
            self.assertEqual((2, ""), (ran.returncode, ran.stdout))
            self.assertIn(message, ran.stderr)

    def test_elsewhere_than_in_the_root_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([PROGRAM, "guards", "mul-one"], capture_output=True, text=True, cwd=folder)
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("run it in the repository's root", ran.stderr)


if __name__ == "__main__":
    unittest.main()
