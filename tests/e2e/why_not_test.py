"""quotient optimize --why-not: what a user expected and does not see in the report."""

import json
import unittest

import numpy as np
import onnx
from onnx import helper

import harness
import models


def model():
    """A BatchNormalization behind a Conv, another one with a Relu in between, two Transposes that cancel."""
    random = np.random.default_rng(1)
    weights = {"w": random.standard_normal((3, 3, 1, 1)), "scale": np.ones(3), "shift": np.zeros(3),
               "mean": np.zeros(3), "variance": np.full(3, 2)}
    normalize = ["scale", "shift", "mean", "variance"]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="Conv_1"),
        helper.make_node("BatchNormalization", ["a", *normalize], ["b"], name="Norm_1"),
        helper.make_node("Conv", ["b", "w"], ["c"], name="Conv_2"),
        helper.make_node("Relu", ["c"], ["d"], name="Relu_2"),
        helper.make_node("Transpose", ["d"], ["t"], name="There", perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["t"], ["u"], name="Back", perm=[0, 3, 1, 2]),
        helper.make_node("BatchNormalization", ["u", *normalize], ["y"], name="Norm_2"),
    ]
    return models.model(nodes, [models.value("x", (1, 3, 8, 8))], [models.value("y", (1, 3, 8, 8))],
                        [models.tensor(name, array.astype(np.float32)) for name, array in weights.items()])


class WhyNotTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(model(), self.folder / "m.onnx")

    def ask(self, *arguments):
        return self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--device", "model:h200", "--budget", "20s",
                             *arguments)

    def test_answers_in_the_table_and_in_the_report(self):
        result = self.ask("--local", "--why-not", "conv-batchnorm@Conv_2", "--why-not", "transpose-transpose@There",
                          "--why-not", "conv-batchnorm@Conv_3", "--report", "r.json", "--html", "r.html")
        self.assert_code(result, 0)
        self.assertIn("why not conv-batchnorm at Conv_2: the pattern does not match\n", result.out)
        self.assertIn("but 'c' is read by Relu 'Relu_2'", result.out)
        answers = json.loads((self.folder / "r.json").read_text())["why_not"]
        self.assertEqual({"There": "applied", "Conv_2": "no_match", "Conv_3": "no_node"},
                         {answer["node"]: answer["answer"] for answer in answers})
        self.assertIn("conv-batchnorm at Conv_2", (self.folder / "r.html").read_text())

    def test_a_server_answers_as_well(self):
        self.serve()
        result = self.ask("--why-not", "conv-batchnorm@d", "--json")
        self.assert_code(result, 0)
        self.assertEqual(["no_match"], [answer["answer"] for answer in result.json()["why_not"]])

    def test_what_is_no_question_is_refused(self):
        self.assert_code(self.ask("--local", "--why-not", "conv-batchnorm"), 2, "is not RULE@NODE")
        self.assert_code(self.ask("--local", "--why-not", "conv-batchnrm@Conv_1"), 2,
                         "no rule is called 'conv-batchnrm', but 'conv-batchnorm'")


if __name__ == "__main__":
    unittest.main()
