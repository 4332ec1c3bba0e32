"""The lint of pages finds what is not there."""

import pathlib
import tempfile
import unittest

import pages


class PagesTest(unittest.TestCase):
    def test_names_what_is_not_there(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "core" / "a").mkdir(parents=True)
            (root / "core" / "a" / "there.h").write_text("int  There(\n    int x);\n")
            (root / "core" / "README.md").write_text(
                "# A *page*: of [links](a)\n## The end\n"
                "[a](a/there.h) [folder](a) [web](https://x.org/y#z) [b](a/gone.h#part) [line](a/there.h#L1)\n"
                "[c](#the-end) [d](#the-beginning) [e](../CONTRIBUTING.md#rules) [f](README.md#a-page-of-links)\n"
                "`core/a/there.h` `a/there.h` `a/lost.cc` `cases/FAMILY.txt` `there.h` `x/y`\n"
                "```\n[c](not/a/link.h)\n```\n")
            (root / "CONTRIBUTING.md").write_text(
                "```cpp\nint There(int x);\n...\n```\n   ```cpp\n   int Gone();\n   ```\n```\nint Any();\n```\n")
            self.assertEqual(["core/README.md: the link a/gone.h leads nowhere",
                              "core/README.md: core/README.md has no heading the-beginning",
                              "core/README.md: CONTRIBUTING.md has no heading rules",
                              "core/README.md: there is no file a/lost.cc",
                              "CONTRIBUTING.md: no source has the lines\n   int Gone();"],
                             list(pages.mistakes(root)))


if __name__ == "__main__":
    unittest.main()
