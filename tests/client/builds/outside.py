"""A project outside of Quotient's tree, its model, and a program `quotient` that counts its runs."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "e2e"))
import harness  # noqa: E402

SNAPSHOTS = HERE.parents[1] / "data/cuda"


def save_model(path, improvable=True, width=32):
    """A model whose weights lie in weights.bin, with two transpositions that go away."""
    weights = np.random.default_rng(0).standard_normal((width, width)).astype(np.float32)
    turns = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
             helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0])]
    nodes = [*(turns if improvable else []),
             helper.make_node("MatMul", ["u" if improvable else "x", "w"], ["y"])]
    graph = helper.make_graph(
        nodes, "outside",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [width, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [width, width])],
        [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.with_name("weights.bin").unlink(missing_ok=True)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def change_weights(path):
    """Changes weights.bin alone, so that the file of the model is the same and not newer."""
    weights = path.with_name("weights.bin")
    weights.write_bytes((2 * np.frombuffer(weights.read_bytes(), np.float32)).tobytes())


class BuildTest(harness.TestCase):
    """Has a copy of a project, and the program `quotient` by way of a script that counts."""

    def set_up_project(self, project, model):
        """Copies the folder `project`, and saves a model in it."""
        self.source = self.folder / "source"
        shutil.copytree(project, self.source)
        self.model = self.source / model
        save_model(self.model)
        self.env["QUOTIENT_SERVER"] = "127.0.0.1:1"  # None, until there is one.
        self.runs_log = self.folder / "runs.log"
        self.program = self.folder / "quotient"
        self.program.write_text(f'#!/bin/sh\necho "$*" >>{self.runs_log}\nexec {harness.BIN}/quotient "$@"\n')
        self.program.chmod(0o755)

    def run_tool(self, *command, cwd=None):
        return harness.Result(subprocess.run(
            [*map(str, command)], capture_output=True, text=True, env=self.env, cwd=cwd or self.folder,
            timeout=harness.PATIENCE_SECONDS, check=False))

    def runs(self):
        """How often `quotient` has run since the last call."""
        count = len(self.runs_log.read_text().splitlines()) if self.runs_log.exists() else 0
        self.runs_log.unlink(missing_ok=True)
        return count

    def assert_builds(self, result, *words):
        self.assertEqual(result.code, 0, result)
        for word in words:
            self.assertIn(word, result.out, result)

    def assert_fails(self, result, *words):
        """The build fails, and says so; ninja has the messages of programs in its standard output."""
        self.assertNotEqual(result.code, 0, result)
        for word in words:
            self.assertIn(word, result.out + result.err, result)
