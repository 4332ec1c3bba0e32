"""Models in all their forms, the external data that they name, and what is refused."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import quotient
from quotient._model import check_location, open_model
from quotient._onnx_wire import external_locations

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import models  # noqa: E402


def external(name, location):
    tensor = numpy_helper.from_array(np.ones(4, np.float32), name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def everywhere():
    """A model with external data wherever a tensor can be, and one that only looks as if it had."""
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=external("", "in/subgraph"))], "inner", [], [],
        [external("i", "in/initializer")])
    other = helper.make_graph([], "other", [], [], [external("o", "other")])

    def sparse(name):
        return onnx.SparseTensorProto(values=external("v", f"{name}/values"), indices=external("d", f"{name}/indices"))

    inside = external("n", "not external")
    inside.data_location = TensorProto.DEFAULT
    graph = helper.make_graph(
        [helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner),
         helper.make_node("Some", ["x"], ["z"], domain="a", many=[external("l", "list")], graphs=[other],
                          sparse=sparse("one"), sparses=[sparse("list")], text="location", number=300)],
        "outer", [], [], [external("w", "weights.bin"), external("u", "weights.bin"), inside],
        sparse_initializer=[sparse("graph")])
    model = helper.make_model(graph)
    function = model.functions.add(name="f", domain="a")
    function.node.append(helper.make_node("Constant", [], ["c"], value=external("", "function")))
    attribute = helper.make_attribute("t", external("", "default"))
    function.attribute_proto.append(attribute)
    training = model.training_info.add()
    training.initialization.initializer.append(external("t", "training"))
    training.algorithm.initializer.append(external("t", "algorithm"))
    return model


class LocationsTest(unittest.TestCase):
    def test_are_found_wherever_a_tensor_can_be(self):
        self.assertEqual(
            set(external_locations(memoryview(everywhere().SerializeToString()))),
            {"weights.bin", "in/initializer", "in/subgraph", "other", "list", "function", "default", "training",
             "algorithm", *(f"{name}/{part}" for name in ("one", "list", "graph") for part in ("values", "indices"))})

    def test_what_is_no_model_is_malformed(self):
        whole = everywhere().SerializeToString()
        for data in (b"no model", b"\x3a", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", whole[:-1], b"",
                     b"\x08\x01", b"\x3a\x02\x2a\x05", b"\x3b"):
            with self.assertRaises(quotient.ModelError, msg=data) as caught:
                external_locations(memoryview(data))
            self.assertEqual(caught.exception.reason, "MODEL_MALFORMED")

    def test_a_location_that_is_no_text_is_refused_as_a_path(self):
        model = everywhere()
        data = model.SerializeToString().replace(b"weights.bin", b"weights\xffbin")
        [location] = [each for each in external_locations(memoryview(data)) if each.startswith("weights")]
        with self.assertRaises(quotient.ModelError):
            check_location(location)

    def test_every_cut_and_every_flipped_bit_ends(self):
        whole = models.conv_bn_relu(1, 2, 4).SerializeToString()
        for at in range(0, len(whole), 3):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << at % 8
            for data in (whole[:at], bytes(flipped)):
                try:
                    external_locations(memoryview(data))
                except quotient.ModelError:
                    pass

    def test_no_location_leaves_the_folder_by_the_rules_of_any_system(self):
        for location in ("", "/etc/passwd", "\\x", "C:x", "../x", "a/../../x", "a\\..\\x", "a\0b", "a\udcffb"):
            with self.assertRaises(quotient.ModelError, msg=location) as caught:
                check_location(location)
            self.assertEqual(caught.exception.reason, "EXTERNAL_DATA_PATH")
        for location in ("x", "a/b.bin", "a..b", "ä.data"):
            check_location(location)


class OpenTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.proto = models.conv_bn_relu()
        self.bytes = self.proto.SerializeToString()
        self.path = self.folder / "m.onnx"
        self.path.write_bytes(self.bytes)

    def opened(self, model, name=None):
        with open_model(model, name) as files:
            return files.name, bytes(files.graph), {name: bytes(data) for name, data in files.external.items()}

    def refused(self, model, reason):
        with self.assertRaises(quotient.ModelError) as caught:
            self.opened(model)
        self.assertEqual(caught.exception.reason, reason)
        return str(caught.exception)

    def test_forms(self):
        for model, name in ((self.path, "m.onnx"), (str(self.path), "m.onnx"), (self.bytes, "model.onnx"),
                            (bytearray(self.bytes), "model.onnx"), (self.proto, "model.onnx")):
            self.assertEqual(self.opened(model), (name, self.bytes, {}))
        self.assertEqual(self.opened(self.path, "other")[0], "other")
        odd = self.folder / os.fsdecode(b"m\xff.onnx")
        odd.write_bytes(self.bytes)
        self.assertEqual(self.opened(odd)[0], "m?.onnx")
        for model in (None, 5, object()):
            with self.assertRaises(TypeError):
                self.opened(model)

    def test_an_export_of_torch_saves_itself_with_its_weights(self):
        folders = []

        class ONNXProgram:  # As torch.onnx.export returns it; torch need not be there.
            def save(inner, destination):
                folders.append(pathlib.Path(destination).parent)
                models.with_external_data(models.chain(), destination, "model.onnx.data")

        name, _, data = self.opened(ONNXProgram())
        self.assertEqual((name, list(data)), ("model.onnx", ["model.onnx.data"]))
        self.assertFalse(folders[0].exists())

    def test_external_data_lies_beside_the_model(self):
        models.with_external_data(models.chain(), self.path, "w.bin")
        self.assertEqual(self.opened(self.path)[2], {"w.bin": (self.folder / "w.bin").read_bytes()})
        self.refused(self.path.read_bytes(), "EXTERNAL_DATA_MISSING")
        self.refused(onnx.load(self.path, load_external_data=False), "EXTERNAL_DATA_MISSING")
        (self.folder / "w.bin").unlink()
        self.assertIn("No such file", self.refused(self.path, "EXTERNAL_DATA_MISSING"))
        os.mkfifo(self.folder / "w.bin")
        self.assertIn("not a regular file", self.refused(self.path, "EXTERNAL_DATA_MISSING"))

    def test_no_link_leads_out_of_the_folder(self):
        inner = self.folder / "inner"
        inner.mkdir()
        models.with_external_data(models.chain(), inner / "m.onnx", "w.bin")
        (inner / "w.bin").rename(inner / "there.bin")
        (inner / "w.bin").symlink_to("there.bin")
        self.assertEqual(list(self.opened(inner / "m.onnx")[2]), ["w.bin"])
        (inner / "there.bin").rename(self.folder / "out.bin")
        for target in ("../out.bin", self.folder / "out.bin"):
            (inner / "w.bin").unlink()
            (inner / "w.bin").symlink_to(target)
            self.refused(inner / "m.onnx", "EXTERNAL_DATA_PATH")

    def test_what_cannot_be_opened_is_an_os_error(self):
        with self.assertRaises(FileNotFoundError):
            self.opened(self.folder / "none.onnx")
        with self.assertRaises(OSError):
            self.opened(self.folder)
        self.path.write_bytes(b"")
        self.refused(self.path, "MODEL_MALFORMED")

    def test_a_model_that_protobuf_cannot_serialize_is_too_large(self):
        class Large:
            def SerializeToString(self):
                raise ValueError("exceeds maximum protobuf size of 2GB")

        self.assertIn("give its path", self.refused(Large(), "LIMIT_BYTES"))


if __name__ == "__main__":
    unittest.main()
