"""quotient bisect: the rule whose rewrite a user's check objects to."""

import unittest

import numpy as np
import onnx
from onnx import helper

import harness
import models


def model():
    """Three rules apply: a HardSwish is recognized, a BatchNormalization folded, two Transposes cancel."""
    random = np.random.default_rng(1)
    weights = {"w": random.standard_normal((4, 3, 3, 3)), "scale": np.ones(4), "shift": np.zeros(4),
               "mean": np.zeros(4), "variance": np.full(4, 2)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"], name="norm"),
        helper.make_node("HardSigmoid", ["n"], ["h"], name="sigmoid", alpha=1 / 6, beta=0.5),
        helper.make_node("Mul", ["n", "h"], ["m"], name="swish"),
        helper.make_node("Transpose", ["m"], ["t"], name="there", perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["t"], ["y"], name="back", perm=[0, 3, 1, 2]),
    ]
    return models.model(nodes, [models.value("x", (1, 3, 8, 8))], [models.value("y", (1, 4, 8, 8))],
                        [models.tensor(name, array.astype(np.float32)) for name, array in weights.items()])


class BisectTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(model(), self.folder / "m.onnx")

    def bisect(self, check, *arguments):
        script = self.folder / "check.sh"
        script.write_text(f"#!/bin/sh\n{check}\n")
        script.chmod(0o755)
        return self.quotient("bisect", "m.onnx", "--check", script, "--device", "model:h200", "--budget", "20s",
                             *arguments)

    def test_the_rule_and_its_node(self):
        result = self.bisect('! grep -q HardSwish "$1"')
        self.assert_code(result, 0)
        self.assertEqual("the check accepts the result with --disable-rule hardswish\n  hardswish at swish\n",
                         result.out)
        self.assertIn("with all rules: rejected\n", result.err)

    def test_another_rule_as_json(self):
        result = self.bisect('grep -q BatchNormalization "$1"', "--json")
        self.assert_code(result, 0)
        self.assertEqual(["conv-batchnorm"], result.json()["rules"])
        self.assertGreaterEqual(result.json()["trials"], 4)

    def test_several_rules_to_choose_from(self):
        """Only when two of the three are left out is the check content."""
        result = self.bisect('! grep -q HardSwish "$1" && grep -q BatchNormalization "$1"', "--json")
        self.assert_code(result, 0)
        self.assertEqual({"conv-batchnorm", "hardswish"}, set(result.json()["rules"]))
        self.assertGreaterEqual(result.json()["trials"], 4)

    def test_nothing_to_find(self):
        self.assertEqual("the check accepts the result\n", self.bisect("echo noise; true").out)

    def test_a_signal_ends_the_check(self):
        script = self.folder / "check.sh"
        script.write_text("#!/bin/sh\necho started\nsleep 600\n")
        script.chmod(0o755)
        with self.running("bisect", "m.onnx", "--check", script, "--device", "model:h200") as process:
            harness.read_until(process.stderr, "started")
            process.terminate()
            process.communicate(timeout=60)
            self.assertEqual(5, process.returncode)

    def test_what_cannot_be_bisected_is_said(self):
        self.assert_code(self.bisect("false"), 2, "also objects to the model itself")
        self.assert_code(self.quotient("bisect", "m.onnx", "--check", "./none.sh", "--device", "model:h200"), 2,
                         "'./none.sh' cannot be run")
        self.assert_code(self.quotient("bisect", "m.onnx"), 2, "missing: --check CMD")


if __name__ == "__main__":
    unittest.main()
