"""quotient explain: what ONNX Runtime made of a model, and why."""

import json
import unittest

import numpy as np
import onnx
from onnx import helper

import harness
import models


def scaled_the_wrong_way(blocks=2, channels=32):
    """Convolutions with a factor behind each that is the first operand of its Mul."""
    random = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    for i in range(blocks):
        weights.append(models.tensor(f"w{i}", random.standard_normal(
            (channels, channels, 3, 3), dtype=np.float32) * 0.1))
        weights.append(models.tensor(f"k{i}", random.random(
            (channels, 1, 1), dtype=np.float32) + 0.5))
        nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1],
                                      name=f"conv{i}"))
        nodes.append(helper.make_node("Mul", [f"k{i}", f"c{i}"], [f"m{i}"], name=f"mul{i}"))
        name = "y" if i == blocks - 1 else f"r{i}"
        nodes.append(helper.make_node("Relu", [f"m{i}"], [name], name=f"relu{i}"))
    shape = [1, channels, 32, 32]
    return models.model(nodes, [models.value("x", shape)], [models.value("y", shape)], weights)


class ExplainTest(harness.TestCase):
    def explain(self, model, *arguments):
        onnx.save(model, self.folder / "m.onnx")
        return self.quotient("explain", "m.onnx", "--local", "--threads", "1", "--budget", "10s",
                             *arguments)

    def test_says_what_is_not_fused_why_and_what_was_done(self):
        result = self.explain(scaled_the_wrong_way(), "--device", "onnxruntime", "--html", "r.html")
        self.assert_code(result, 0)
        lines = result.out.splitlines()
        self.assertRegex(lines[0], r"^m\.onnx: explained for ONNX Runtime 1\..+, 1 thread$")
        self.assertRegex(result.out, r"(?m)^ +~?[0-9.]+ us +[0-9.]+ %  Mul behind Conv, 2 places, "
                                     r"first at mul0$")
        self.assertIn("because the constant is the first operand of the Mul", result.out)
        self.assertRegex(result.out, r"(?m)^ +Quotient('s result has| tried| left)")
        page = (self.folder / "r.html").read_text()
        self.assertIn("What the runtime made of it", page)
        self.assertIn("Mul behind Conv", page)

    def test_json_adds_up(self):
        result = self.explain(scaled_the_wrong_way(), "--json")
        self.assert_code(result, 0)
        explained = json.loads(result.out)["explanation"]
        original = explained["original"]
        missed = explained["missed"]
        self.assertEqual({row["reason"] for row in missed}, {"operand_order"})
        self.assertAlmostEqual(sum(row["us"] for row in missed), original["missed_us"])
        self.assertLessEqual(original["products_us"], original["us"])
        self.assertLessEqual(original["products_at_peak_us"], original["products_us"])
        for row in explained["below_peak"]:
            self.assertLessEqual(row["share_of_peak"], 1)
        self.assertGreater(explained["peak"]["operations_per_us"], 0)

    def test_fused_kernels_are_counted(self):
        result = self.explain(models.conv_bn_relu(channels=32), "--json")
        self.assert_code(result, 0)
        fused = json.loads(result.out)["explanation"]["fused"]
        self.assertEqual([(row["operators"], row["kernel"], row["places"]) for row in fused],
                         [("Conv + BatchNormalization + Relu", "Conv (nchwc)", 3)])

    def test_devices_that_run_no_files_have_nothing_to_explain(self):
        for device in ("cpu", "model:h200"):
            result = self.explain(models.conv_bn_relu(), "--device", device)
            self.assert_code(result, 2)
            self.assertIn("OPTION_INVALID: device: ", result.err)
            self.assertIn("these do: onnxruntime", result.err)

    def test_a_wrong_path_is_told_at_once(self):
        result = self.explain(models.conv_bn_relu(), "--html", "missing/folder/r.html")
        self.assert_code(result, 2)

    def test_a_server_explains_as_well(self):
        onnx.save(scaled_the_wrong_way(), self.folder / "m.onnx")
        self.serve()
        result = self.quotient("explain", "m.onnx", "--threads", "1", "--budget", "10s", "--json")
        self.assert_code(result, 0)
        self.assertIn("Mul behind Conv",
                      [row["what"] for row in json.loads(result.out)["explanation"]["missed"]])


if __name__ == "__main__":
    unittest.main()
