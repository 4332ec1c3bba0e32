"""Hostile and broken models, here and on a server: a reason, exit code 3, and a server unharmed."""

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
    "opset of the future": (add_constant(models.tensor("c", np.zeros(4, np.float32)), opset=9999),
                            ["OPSET_UNKNOWN"]),
    "opset of the past": (add_constant(models.tensor("c", np.zeros(4, np.float32)), opset=1),
                          ["OPSET_UNKNOWN"]),
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

    def test_unknown_shapes_are_reported_with_the_input(self):
        proto = models.model([helper.make_node("Relu", ["x"], ["y"])],
                             [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        onnx.save(proto, self.folder / "shapeless.onnx")
        result = self.quotient("optimize", "shapeless.onnx", "-o", "out.onnx", "--local",
                               "--budget", "1s")
        self.assert_code(result, 3, "SHAPE_MISSING", "x")
        bound = self.quotient("optimize", "shapeless.onnx", "-o", "out.onnx", "--local",
                              "--budget", "1s", "--shape", "x=2,3")
        self.assert_code(bound, 0)


if __name__ == "__main__":
    unittest.main()
