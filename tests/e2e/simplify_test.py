"""quotient simplify: a model that is smaller, the same everywhere, and checked."""

import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import harness
import models


def transformer_block():
    """A model with an open batch, an exporter's shape arithmetic, and a mask made of constants."""
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((8, 8)), "scale": np.array(0.5), "b": random.standard_normal(8)}
    constants = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in weights.items()]
    constants += [numpy_helper.from_array(np.asarray(array, np.int64), name) for name, array in
                  {"zero": 0, "axis": [0], "rest": [4, 2], "start": 0, "end": 4, "step": 1}.items()]
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "axis"], ["batches"]),
        node("Concat", ["batches", "rest"], ["dims"], axis=0),
        node("MatMul", ["x", "w"], ["product"]),
        node("Mul", ["product", "scale"], ["scaled"]),
        node("Add", ["scaled", "b"], ["shifted"]),
        node("Identity", ["shifted"], ["same"]),
        node("Range", ["start", "end", "step"], ["range"]),
        node("Cast", ["range"], ["floats"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["floats", "axis"], ["row"]),
        node("Reshape", ["same", "dims"], ["heads"]),
        node("Transpose", ["heads"], ["there"], perm=[0, 2, 1]),
        node("Add", ["there", "row"], ["masked"]),
        node("Softmax", ["masked"], ["soft"], axis=-1),
        node("Transpose", ["soft"], ["back"], perm=[0, 2, 1]),
        node("Transpose", ["back"], ["y"], perm=[0, 2, 1]),
    ]
    graph = helper.make_graph(
        nodes, "block", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2, 4])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class SimplifyTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(transformer_block(), self.folder / "m.onnx")

    def simplify(self, *arguments):
        return self.quotient("simplify", "m.onnx", "s.onnx", *arguments)

    def test_it_never_has_more_operators(self):
        # Of old, Softmax flattens its operand: read as three operators.
        graph = helper.make_graph(
            [helper.make_node("Softmax", ["x"], ["y"])], "old",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 4])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6),
                  self.folder / "m.onnx")
        result = self.simplify()
        self.assert_code(result, 0)
        self.assertIn("has more operators", result.out)
        self.assertEqual([node.op_type for node in self.simplified().graph.node], ["Softmax"])

    def simplified(self):
        model = onnx.load(self.folder / "s.onnx")
        onnx.checker.check_model(model, full_check=True)
        return model

    def assert_equal_in_onnxruntime(self):
        sessions = [onnxruntime.InferenceSession(str(self.folder / name), providers=["CPUExecutionProvider"])
                    for name in ("m.onnx", "s.onnx")]
        for batch in (1, 3):
            x = np.random.default_rng(batch).standard_normal((batch, 8)).astype(np.float32)
            first, second = (session.run(None, {"x": x})[0] for session in sessions)
            np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)

    def test_what_an_exporter_writes_becomes_short(self):
        result = self.simplify()
        self.assert_code(result, 0)
        model = self.simplified()
        self.assertEqual(sorted(node.op_type for node in model.graph.node),
                         ["Add", "Gemm", "Reshape", "Softmax", "Transpose"])
        self.assert_equal_in_onnxruntime()
        self.assertRegex(result.out, r"nodes +17 +5  -12\n")
        self.assertRegex(result.out, r"checked: equal on \d+ random inputs")
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "batch")
        self.assertEqual(model.opset_import[0].version, 17)
        described = {info.name for info in model.graph.value_info}
        computed = {name for node in model.graph.node for name in node.output}
        self.assertEqual(described, computed - {"y"})

    def test_equal_models_give_equal_bytes(self):
        bytes_of = []
        for threads in ("1", "2"):
            self.assert_code(self.simplify("--threads", threads), 0)
            bytes_of.append((self.folder / "s.onnx").read_bytes())
        self.assertEqual(*bytes_of)

    def test_values_can_be_kept(self):
        self.assert_code(self.simplify("--keep", "scaled", "--keep", "row"), 0)
        model = self.simplified()
        names = {name for node in model.graph.node for name in node.output}
        names |= {tensor.name for tensor in model.graph.initializer}
        self.assertLessEqual({"scaled", "row"}, names)
        self.assertEqual([output.name for output in model.graph.output], ["y"])
        self.assert_equal_in_onnxruntime()
        self.assert_code(self.simplify("--keep", "nothing"), 2, "OPTION_INVALID", "no value 'nothing'")

    def test_the_table_is_there_for_programs(self):
        result = self.simplify("--json")
        self.assert_code(result, 0)
        told = result.json()
        self.assertTrue(told["simplified"])
        self.assertEqual(told["before"]["nodes"], 17)
        self.assertEqual(told["before"]["bytes"], (self.folder / "m.onnx").stat().st_size)
        self.assertEqual(told["after"]["bytes"], (self.folder / "s.onnx").stat().st_size)
        self.assertEqual(told["after"]["operators"]["Add"], 1)
        self.assertGreater(told["check"]["inputs"], 0)

    def test_weights_in_a_file_of_their_own_stay_in_one(self):
        onnx.save(models.conv_bn_relu(), self.folder / "m.onnx", save_as_external_data=True,
                  location="weights.bin", size_threshold=0)
        before = (self.folder / "weights.bin").read_bytes()
        self.assert_code(self.simplify(), 0)
        self.assertTrue((self.folder / "s.onnx.data").exists())
        self.assertEqual(before, (self.folder / "weights.bin").read_bytes())
        self.assertNotIn("BatchNormalization", {node.op_type for node in self.simplified().graph.node})

    def test_a_model_may_be_replaced(self):
        self.assert_code(self.quotient("simplify", "m.onnx", "m.onnx"), 0)
        self.assertEqual(len(onnx.load(self.folder / "m.onnx").graph.node), 5)

    def test_bad_input(self):
        (self.folder / "m.onnx").write_bytes(b"junk")
        self.assert_code(self.simplify(), 3, "MODEL_MALFORMED")
        self.assertFalse((self.folder / "s.onnx").exists())
        self.assert_code(self.quotient("simplify", "m.onnx"), 2, "missing: OUT.onnx")
        self.assert_code(self.quotient("simplify", "none.onnx", "s.onnx"), 2, "OPTION_INVALID", "none.onnx")


if __name__ == "__main__":
    unittest.main()
