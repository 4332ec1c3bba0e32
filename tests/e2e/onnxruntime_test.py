"""The device onnxruntime: what leaves was measured in ONNX Runtime, and what goes wrong there costs no job."""

import json
import os
import pathlib
import signal
import time
import unittest

import onnx
import onnx.parser

import harness
import models
import optimize_test

BUDGET = ("--budget", "2s", "--threads", "1")


def children(pid):
    """The processes that a process has started."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


class OnnxRuntimeTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        onnx.save(models.conv_bn_relu(), self.model)

    def optimize(self, *arguments):
        return self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--report", "r.json",
                             "--device", "onnxruntime", *BUDGET, *arguments)

    def check_report(self, result):
        self.assert_code(result, 0)
        optimize_test.run_both(self, self.model, self.folder / "out.onnx")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["device"]["name"], "onnxruntime")
        self.assertIn("ONNX Runtime 1.", report["device"]["fingerprint"])
        self.assertGreater(report["original"]["measured_us"]["runs"], 0)
        # The file was run with the If in it.
        self.assertEqual((report["cut_nodes"], report["cut_nodes_run"]), (1, True))
        self.assertIn("what it takes is measured, but in no prediction", result.out)
        self.assertIn("no prediction holds what it takes", result.out)

    def test_in_process(self):
        self.check_report(self.optimize("--local"))

    def test_through_a_server(self):
        self.serve()
        self.check_report(self.optimize())

    def test_a_model_with_external_data(self):
        models.with_external_data(models.conv_bn_relu(), self.model, "weights.bin")
        self.check_report(self.optimize("--local"))

    def test_a_model_whose_outputs_come_from_what_is_not_understood(self):
        body = "{{ z = {op}(r, r) }}"
        onnx.save(onnx.parser.parse_model(f'''<ir_version: 8, opset_import: ["" : 17]>
            g (float[64,64] x, bool c) => (float[64,64] y) {{
              t = Transpose <perm = [1, 0]> (x)
              u = Transpose <perm = [1, 0]> (t)
              r = Relu(u)
              y = If (c) <then_branch = a () => (float[64,64] z) {body.format(op="Add")},
                          else_branch = b () => (float[64,64] z) {body.format(op="Mul")}>
            }}'''), self.model)
        result = self.optimize("--local")
        self.assert_code(result, 0)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertGreater(report["original"]["measured_us"]["runs"], 0)

    def test_a_helper_that_was_killed_is_started_again(self):
        server = self.serve()
        self.check_report(self.optimize())
        for helper in children(server.process.pid):
            os.kill(helper, signal.SIGKILL)
        self.check_report(self.optimize("--no-cache"))

    def test_the_helper_ends_with_its_parent(self):
        server = self.serve()
        self.check_report(self.optimize())
        (helper,) = children(server.process.pid)
        os.kill(helper, signal.SIGSTOP)
        server.kill()
        os.kill(helper, signal.SIGCONT)
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while pathlib.Path(f"/proc/{helper}").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_a_library_that_is_missing_is_named(self):
        result = self.optimize("--local", "--onnxruntime", "/nowhere.so")
        self.assert_code(result, 4, "there is no ONNX Runtime at /nowhere.so")
        self.env["QUOTIENT_ONNXRUNTIME"] = "/nowhere/either.so"
        result = self.optimize("--local")
        self.assert_code(result, 4, "there is no ONNX Runtime at /nowhere/either.so")


if __name__ == "__main__":
    unittest.main()
