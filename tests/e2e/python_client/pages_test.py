"""What the page of the Python client and its notebook show works, against a real server.

The cells of the notebook are run by a few lines below and not by Jupyter, which would bring forty packages.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import pathlib
import re
import unittest
from unittest import mock

import onnx

from client_harness import TestCase, models

CLIENT = pathlib.Path(__file__).resolve().parents[3] / "client" / "python"
# A print whose output the page tells; what follows ".." may be anything.
TOLD = re.compile(r"print\(.*\)  # (.*?)(?:\.\.\..*)?$", re.MULTILINE)


def run_cell(source, names):
    """Runs a cell as notebooks do: `await` is allowed, and the value of a last expression is returned."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    parts = [(tree, "exec")] + ([(ast.Expression(last.value), "eval")] if last else [])
    for part, mode in parts:
        value = eval(compile(part, "cell", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
    return value


class PagesTest(TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(1), self.folder / "model.onnx")
        self.enterContext(mock.patch.dict(os.environ, {"QUOTIENT_SERVER": self.serve().address}))
        self.enterContext(contextlib.chdir(self.folder))

    def test_the_readme_does_what_it_says(self):
        text = (CLIENT / "README.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        names = {}
        for block in blocks:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, "README.md", "exec"), names)
            for told in TOLD.findall(block):
                self.assertIn(told.strip(), out.getvalue())
        self.assertTrue((self.folder / "model.optimized.onnx").exists())
        self.assertIn("<html", (self.folder / "report.html").read_text())
        self.assertEqual(len(names["results"]), 2)

    def test_the_notebook_runs(self):
        notebook = json.loads((CLIENT / "notebooks" / "optimize.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(cell["outputs"] == [] for cell in notebook["cells"] if "outputs" in cell))
        names, out = {}, io.StringIO()
        with contextlib.redirect_stdout(out):
            shown = [run_cell(cell, names) for cell in cells]
        self.assertIn("<iframe", shown[1]._repr_html_())
        self.assertIn("transposed.onnx: improved on model:h200", shown[1]._repr_html_() + out.getvalue())
        self.assertEqual(shown[2], ["Relu"])
        self.assertEqual(len(shown[3]), 3)


if __name__ == "__main__":
    unittest.main()
