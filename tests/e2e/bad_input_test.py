"""Hostile and broken models, here and on a server: a reason, exit code 3, and a server unharmed.
Models that are only not understood come back byte for byte, with the reason in the report."""

import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness
import models


def raw_tensor(name, dims, raw, kind=TensorProto.FLOAT):
    """A tensor whose bytes need not fit its shape."""
    tensor = TensorProto(name=name, data_type=kind, raw_data=raw)
    tensor.dims.extend(dims)
    return tensor


def add_constant(tensor, opset=17):
    return models.model([helper.make_node("Add", ["x", "c"], ["y"], name="the_add")],
                        [models.value("x", [4])], [models.value("y", [4])], [tensor], opset)


def external(location, **more):
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT,
                         data_location=TensorProto.EXTERNAL)
    tensor.dims.extend([4])
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return add_constant(tensor)


def cycle():
    return models.model([helper.make_node("Add", ["x", "b"], ["a"], name="first"),
                         helper.make_node("Relu", ["a"], ["b"], name="second")],
                        [models.value("x", [4])], [models.value("b", [4])])


# name -> (model or bytes, words of which one must be in the error)
CASES = {
    "empty": (b"", ["MODEL_MALFORMED"]),
    "random": (np.random.default_rng(0).bytes(5000), ["MODEL_MALFORMED"]),
    "truncated": (models.conv_bn_relu().SerializeToString()[:2000], ["MODEL_MALFORMED"]),
    "cycle": (cycle(), ["MODEL_CYCLIC"]),
    "too few bytes": (add_constant(raw_tensor("c", [4], b"1234")), ["MODEL_MALFORMED"]),
    "too many bytes": (add_constant(raw_tensor("c", [1], b"12345678")), ["MODEL_MALFORMED"]),
    "overflowing dims": (add_constant(raw_tensor("c", [2**32, 2**32], b"1234")),
                         ["LIMIT_DIMS", "LIMIT_BYTES", "MODEL_MALFORMED"]),
    "huge dim": (add_constant(raw_tensor("c", [2**40], b"1234")),
                 ["LIMIT_DIMS", "LIMIT_BYTES", "MODEL_MALFORMED"]),
    "negative dim": (add_constant(raw_tensor("c", [-1], b"1234")),
                     ["MODEL_MALFORMED", "LIMIT_DIMS"]),
    "climbing external data": (external("../secret.bin"), ["EXTERNAL_DATA_PATH"]),
    "absolute external data": (external("/etc/passwd"), ["EXTERNAL_DATA_PATH"]),
    "external data by a link": (external("link.bin"), ["EXTERNAL_DATA_PATH"]),
    "external device": (external("zero.bin"), ["EXTERNAL_DATA"]),
    "missing external data": (external("nothing.bin"), ["EXTERNAL_DATA_MISSING"]),
    "external data beyond the file": (external("short.bin", offset=4096, length=16),
                                      ["MODEL_MALFORMED", "EXTERNAL_DATA", "LIMIT_BYTES"]),
    "negative external offset": (external("short.bin", offset=-4, length=16),
                                 ["MODEL_MALFORMED", "EXTERNAL_DATA", "LIMIT_BYTES"]),
}


def changed(change):
    model = models.conv_bn_relu()
    change(model)
    return model.SerializeToString()


def add_unknown_operator(model):
    """Behind everything else, so that the rest can still be optimized."""
    model.graph.node.append(helper.make_node("Mystery", ["y"], ["z"], name="riddle"))
    model.graph.output.append(models.value("z", None))


def contradict(model):
    """A Conv for other channels than its input has."""
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3


# name -> (bytes, reason for which it comes back, or None if it is worked on, words of a note)
UNTOUCHED = {
    "opset of the future": (
        changed(lambda m: setattr(m.opset_import[0], "version", 9999)),
        "OPSET_UNKNOWN", "opset 9999"),
    "IR of the future": (
        changed(lambda m: setattr(m, "ir_version", 9999)), "OPSET_UNKNOWN", "IR version 9999"),
    "no opset": (
        changed(lambda m: m.ClearField("opset_import")), "OPSET_UNKNOWN", "without importing"),
    "two weights of a name": (
        changed(lambda m: m.graph.initializer.append(m.graph.initializer[0])),
        "MODEL_UNSUPPORTED", "initializer 'w0'"),
    "a name that is no text": (
        models.conv_bn_relu().SerializeToString().replace(b"conv1", b"con\xff1"),
        "MODEL_UNSUPPORTED", "not UTF-8"),
    "an unknown operator": (changed(add_unknown_operator), None, "has no such operator"),
    "two attributes of a name": (
        changed(lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0])),
        None, "has two attributes 'pads'"),
    "an input without type": (
        changed(lambda m: m.graph.input[0].ClearField("type")), None, "has no type"),
    "a contradiction": (changed(contradict), None, ""),
}


class UntouchedTest(harness.TestCase):
    def come_back(self, *mode):
        for name, (content, reason, words) in UNTOUCHED.items():
            with self.subTest(name):
                (self.folder / "in.onnx").write_bytes(content)
                result = self.quotient("optimize", "in.onnx", "-o", "out.onnx", "--report",
                                       "report.json", "--html", "report.html", "--device",
                                       "model:h200", "--budget", "1s", *mode)
                self.assert_code(result, 0)
                report = json.loads((self.folder / "report.json").read_text())
                if reason is not None:
                    self.assertEqual(report["passed_through"], reason)
                    self.assertIn(words, result.out)
                if report["outcome"] == "no_improvement":
                    self.assertEqual((self.folder / "out.onnx").read_bytes(), content)
                self.assertTrue(any(words in note for note in report["notes"]), report["notes"])
                self.assertIn("</html>", (self.folder / "report.html").read_text())

    def test_in_process(self):
        self.come_back("--local")

    def test_through_a_server(self):
        self.serve()
        self.come_back()


class BadInputTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        folder = self.folder / "models"
        folder.mkdir()
        (self.folder / "secret.bin").write_bytes(b"\0" * 16)
        os.symlink("../secret.bin", folder / "link.bin")
        os.symlink("/dev/zero", folder / "zero.bin")
        (folder / "short.bin").write_bytes(b"\0" * 16)

    def write(self, name):
        content, words = CASES[name]
        path = self.folder / "models" / "bad.onnx"
        path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        return path, words

    def refused(self, name, *mode):
        path, words = self.write(name)
        result = self.quotient("optimize", path, "-o", "out.onnx", "--budget", "1s", *mode)
        self.assert_code(result, 3)
        self.assertTrue(any(word in result.err for word in words), result)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_in_process(self):
        for name in CASES:
            with self.subTest(name):
                self.refused(name, "--local")

    def test_through_a_server_which_survives(self):
        server = self.serve()
        for name in CASES:
            with self.subTest(name):
                self.refused(name)
        self.assertIsNone(server.process.poll())
        onnx.save(models.conv_bn_relu(1), self.folder / "good.onnx")
        good = self.quotient("optimize", "good.onnx", "-o", "out.onnx", "--budget", "1s")
        self.assert_code(good, 0)

    def test_an_input_without_a_shape_is_no_reason_to_refuse(self):
        proto = models.model([helper.make_node("Relu", ["x"], ["y"])],
                             [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        onnx.save(proto, self.folder / "shapeless.onnx")
        result = self.quotient("optimize", "shapeless.onnx", "-o", "out.onnx", "--local",
                               "--budget", "1s")
        self.assert_code(result, 0)
        bound = self.quotient("optimize", "shapeless.onnx", "-o", "out.onnx", "--local",
                              "--budget", "1s", "--shape", "x=2,3")
        self.assert_code(bound, 0)


if __name__ == "__main__":
    unittest.main()
