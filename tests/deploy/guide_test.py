"""The guide: the reference of the API is current, each answer names tests that exist, and numbers of the comparison are those
that were measured."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "deploy" / "guide"
# Pages with what was measured, and how they call rows of the comparison that have other names there.
MEASURED = ["tests/bench/models/RESULTS.md", "tests/bench/models/FAMILIES.md", "tests/e2e/random_models/README.md"]
CALLED = {"median of 26 networks": "Medians over all", "`quotient simplify`": "| quotient |", "OnnxSlim": "onnxslim"}


class GuideTest(unittest.TestCase):
    def test_the_reference_of_the_api_is_current(self):
        check = subprocess.run([sys.executable, GUIDE / "api_reference.py", "--check"], capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual((check.returncode, check.stderr), (0, ""))

    def test_the_reference_has_every_call_and_message(self):
        page = (GUIDE / "API.md").read_text()
        for proto in (ROOT / "proto" / "quotient" / "v1").glob("*.proto"):
            for kind, name in re.findall(r"^ *(rpc|message|enum) (\w+)", proto.read_text(), re.MULTILINE):
                with self.subTest(f"{kind} {name}"):
                    self.assertRegex(page, rf"(?m)^### (\w+\.)?{name}$")

    def test_each_answer_names_tests_that_exist(self):
        answers = re.split(r"^## ", (GUIDE / "FAQ.md").read_text(), flags=re.MULTILINE)[1:]
        self.assertEqual([answer.split(".")[0] for answer in answers], [str(i) for i in range(1, 21)])
        for answer in answers:
            with self.subTest(answer.splitlines()[0]):
                _, shown = answer.split("Shown by:")
                files = re.findall(r"`(tests/[^`]+)`\s+\(([^)]*)\)", shown)
                self.assertTrue(files)
                # Nothing of it is in a form that is not looked at here.
                self.assertRegex(re.sub(r"`(tests/[^`]+)`\s+\(([^)]*)\)", "", shown).strip(), r"^[,.\s]*$")
                for file, names in files:
                    text = (ROOT / file).read_text()
                    for name in re.findall(r"`(\w+)`", names):
                        self.assertRegex(text, rf"(TEST(_F|_P)?\(\w+, {name}\)|def {name}\()", file)

    def test_each_number_of_the_comparison_was_measured(self):
        measured = "\n".join((ROOT / page).read_text() for page in MEASURED).splitlines()
        _, compared = (GUIDE / "COMPARISON.md").read_text().split("## What was measured")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in compared.splitlines()
                if re.match(r"\| [^|]+ \| .*\d", line)]
        self.assertGreater(len(rows), 10)
        for name, *numbers in rows:
            called = CALLED.get(name, name)
            wanted = {number for number in numbers if number != "does not load"}
            with self.subTest(name):
                self.assertTrue([line for line in measured if called in line
                                 and wanted <= set(re.findall(r"\d+(?:\.\d+)?", line))], wanted)


if __name__ == "__main__":
    unittest.main()
