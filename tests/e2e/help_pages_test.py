"""Pages that repeat what a program prints for --help say the same, row by row."""

import pathlib
import re
import subprocess
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]


def help_of(program):
    return subprocess.run([harness.BIN / program, "--help"], capture_output=True, text=True, check=True,
                          timeout=harness.PATIENCE_SECONDS).stdout


def rows_of(page, head):
    """The rows of the table with this head, without the marks of code."""
    lines = (ROOT / page).read_text().splitlines()
    rows = []
    for line in lines[lines.index(head) + 2:]:
        if not line.startswith("| "):
            break
        rows.append(tuple(line.replace("`", "").strip("| ").split(" | ")))
    return rows


class HelpPagesTest(unittest.TestCase):
    def test_exit_codes(self):
        _, rest = help_of("quotient").split("\nExit codes:\n")
        listed, _ = rest.split("\n\n")
        # The first line of each has its number; the others continue it.
        codes = [(code, " ".join(text.split()))
                 for code, text in re.findall(r"^  (\d)  ((?:.|\n(?!  \d))*)", listed, re.M)]
        known = re.findall(r"kExit\w+ = (\d)", (ROOT / "client/cli/exit_code.h").read_text())
        self.assertEqual([code for code, _ in codes], sorted(known))
        for page in ("README.md", "client/README.md"):
            with self.subTest(page):
                self.assertEqual(rows_of(page, "| exit code | meaning |"), codes)

    def test_options_of_the_server(self):
        options = [(f"--{name} {value}".strip(), text) for name, value, text in
                   re.findall(r"^  --([a-z-]+)(?: ([A-Z:]+))? +(.*)$", help_of("quotientd"), re.M)]
        self.assertGreater(len(options), 30)
        self.assertEqual(rows_of("server/config/README.md", "| option | meaning |"), options)


if __name__ == "__main__":
    unittest.main()
