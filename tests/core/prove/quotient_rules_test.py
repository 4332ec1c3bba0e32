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
        self.assertLessEqual(int(counts["numeric"]), 31)

    def test_one_rule_by_name(self):
        ran = check("check", "conv-sum", "--instances", 5, "--seed", 3)
        self.assertEqual(0, ran.returncode)
        self.assertRegex(ran.stdout, r"^conv-sum +exact +5 +5 +3 ")

    def check_file(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.txt"
            path.write_text(text)
            ran = check("check", "--rules", path, *arguments)
        return ran.returncode, ran.stdout, ran.stderr.replace(str(path), "mine.txt")

    def test_rules_of_a_file(self):
        code, out, err = self.check_file("""
# -(x - y) = y - x
mine: Neg(Sub(?x, ?y)) => Sub(?y, ?x)
max-twice: Max(Relu(?x), ?x) => Relu(?x)
max-twice: Max(?x, Relu(?x)) => Relu(?x)
powers: Mul(Exp(?x), Exp(?y)) => Exp(Add(?x, ?y)) if float(?x)
""")
        self.assertEqual((0, ""), (code, err), out)
        self.assertRegex(out, r"(?m)^mine +exact +(\d+) +\1 +\d+ ")
        self.assertRegex(out, r"(?m)^max-twice +exact for any function .* Max$")
        self.assertRegex(out, r"(?m)^powers +numeric .* differs: .*; not exact in \d+ of \d+ graphs with numbers.*; left open: Exp; in floats apart by .*$")
        self.assertTrue(out.endswith("1 exact\n1 exact for any function\n1 numeric\n"), out)

    def test_wrong_rules_of_a_file(self):
        code, out, err = self.check_file("""
wrong: Sub(?x, ?y) => Sub(?y, ?x)
never: Sub(?x, ?y) => Sub(?x, ?y) if is(?x, 1) and is(?x, 2)
right: Neg(Neg(?x)) => ?x
bound: Min(?x, ?h) => ?x if is(?h, 2) and has_rank(?h, 0)
cap: Min(Relu(?x), ?h) => Relu(?x) if is(?h, 6) and has_rank(?h, 0)
""")
        self.assertEqual((1, ""), (code, err), out)
        # Wrong for numbers alone that are not small.
        self.assertRegex(out, r"(?m)^bound +refuted ")
        self.assertRegex(out, r"(?m)^cap +refuted ")
        self.assertRegex(out, r"(?m)^wrong +refuted .* differs: Sub\(.*\)\n  graph g \{\n(    .*\n)+  \}$")
        self.assertRegex(out, r"(?m)^never +not applied .* guards refuse its left side in \d+ graphs \(\d+ searched\): is\(\?x, \d\) in ")
        self.assertRegex(out, r"(?m)^right +exact ")
        code, out, err = self.check_file("wrong: Sub(?x, ?y) => Sub(?y, ?x)\nright: Neg(Neg(?x)) => ?x\n", "right")
        self.assertEqual((0, ""), (code, err))
        self.assertNotIn("wrong", out)

    def test_a_rule_whose_process_ends_is_not_certified(self):
        # The Expand has 10^15 elements, for which there is no memory.
        code, out, err = self.check_file("huge: Neg(?x) => Neg(ReduceMax[axes=[0]](Tile[repeats=[1000000000000000]](?x)))"
                                         " if has_rank(?x, 1)\nright: Neg(Neg(?x)) => ?x\n")
        self.assertEqual((1, ""), (code, err), out)
        self.assertRegex(out, r"(?m)^huge +not certified ")
        self.assertRegex(out, r"(?m)^right +exact ")

    def test_files_that_have_no_rules(self):
        for text, message in [("", "mine.txt has no rules"), ("a: Neg(?x) => ?x\nb: Negg(?x) => ?x\n", "mine.txt:2: rule b: no operator 'Negg'"),
                              ("a: Neg(Neg(?x)) => ?x if flat(?x)\n", "mine.txt:1: rule a: unknown guard flat")]:
            code, out, err = self.check_file(text)
            self.assertEqual((1, ""), (code, out))
            self.assertIn(message, err)
        code, out, err = self.check_file("a: Neg(Neg(?x)) => ?x\n", "b")
        self.assertEqual((1, ""), (code, out))
        self.assertIn("mine.txt has no rule b", err)
        ran = check("check", "--rules", "/nowhere/mine.txt")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("/nowhere/mine.txt", ran.stderr)

    def test_soak_names_the_rules_that_were_too_rare(self):
        ran = check("soak", "--graphs", 2, "--firings", 100)
        self.assertEqual(1, ran.returncode)
        self.assertRegex(ran.stdout, r"(?m)^too few: conv-sum changed \d+ of 100 graphs, in \d+ turns?")

    def test_guards_of_a_rule(self):
        ran = check("guards", "mul-one", "conv-sum", "--instances", 10)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        self.assertRegex(ran.stdout, r"(?m)^mul-one +1 is\(\?c, 1\) +needed +equation +\S.*$")
        self.assertRegex(ran.stdout, r"(?m)^equation +2 needed, +0 not refuted$")
        self.assertRegex(ran.stdout, r"(?m)^8 guards: \d needed, \d not refuted$")
        self.assertRegex(ran.stdout, r"(?m)^conv-sum +2 before\(\?a, \?b\) +not refuted +cost +exact in \d+ graphs with numbers and "
                                     r"\d+ with symbols; it refuses a match in \d+ of \d+ searches that find one$")

    def test_guards_are_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "guards.txt"
            ran = check("guards", "mul-one", "--record", path)
            self.assertEqual((0, ""), (ran.returncode, ran.stderr))
            lines = [line.split("\t")[:5] for line in path.read_text().splitlines()]
        kept = [line.split("\t")[:5] for line in (ROOT / "core/rules/guards.txt").read_text().splitlines()]
        self.assertEqual([line for line in kept if line[0] == "mul-one"], lines,
                         "quotient-rules guards --record core/rules/guards.txt")

    def test_rules_of_predecessors(self):
        ran = check("predecessors", "--instances", 5, "--seed", 1)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^single-114 +repaired +derived for weights +5  conv")
        self.assertRegex(ran.stdout, r"(?m)^96 sound$")
        self.assertRegex(ran.stdout, r"(?m)^43 repaired$")

    def test_generate_finds_a_rule_that_was_taken_away(self):
        arguments = ["generate", "--operators", "activations", "--size", 2, "--device", "model:h200", "--instances", 5]
        ran = check(*arguments)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertRegex(ran.stderr, r"(?m)^activations: enumerating \(1 operators\): \d+ graphs, 0 found, \d+ s$")
        for step in ("proving (2 operators)", "dropping what follows (2 operators)"):
            self.assertRegex(ran.stderr, r"(?m)^activations: " + re.escape(step) +
                             r": \d+ graphs, \d+ of \d+ candidates, \d+ found, \d+ s$")
        self.assertNotIn("neg-neg:", ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^activations( +\d+){13}$")
        self.assertRegex(ran.stdout, r"(?m)^# taso-rules-images: of \d+ sound rules of TASO, \d+ follow")
        ran = check(*arguments, "--without", "neg-neg")
        self.assertRegex(ran.stdout, r"(?m)^# exact, .*pays: us \d+ -> 0\nneg-neg: Neg\(Neg\(\?x\)\) => \?x$")

    def test_wrong_arguments_are_named(self):
        for arguments, message in [([], "COMMAND: wants check, guards, predecessors, generate or soak"), (["check", "no-rule"], "no rule is called no-rule"),
                                   (["generate", "--without", "no-rule"], "no rule is called no-rule"),
                                   (["guards", "--rules", "f"], "--rules: goes with check alone")]:
            ran = check(*arguments)
            self.assertEqual((2, ""), (ran.returncode, ran.stdout))
            self.assertIn(message, ran.stderr)

    def test_elsewhere_than_in_the_root_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([PROGRAM, "guards", "mul-one"], capture_output=True, text=True, cwd=folder)
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("run it in the repository's root", ran.stderr)

    def test_a_missing_file_of_cases_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "tests/core/rules/cases").mkdir(parents=True)
            ran = subprocess.run([PROGRAM, "check"], capture_output=True, text=True, cwd=folder)
        self.assertEqual(1, ran.returncode)
        self.assertIn("tests/core/rules/cases/algebra.txt:0: cannot be read", ran.stderr)


if __name__ == "__main__":
    unittest.main()
