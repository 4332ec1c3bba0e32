"""Small ONNX models for end-to-end tests."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def with_unknown_operator():
    """Transpositions that go away, and an operator that no runtime has."""
    return onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
        g (float[64,64] x) => (float[64,64] y) {
          t = Transpose <perm = [1, 0]> (x)
          u = Transpose <perm = [1, 0]> (t)
          r = Relu(u)
          y = acme.Frobnicate(r)
        }''')


def of_a_future_opset():
    return model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])],
                 opset=9999)


def conv_bn_relu(blocks=3, channels=8, size=16):
    """Convolutions with batch normalizations that can be folded away."""
    random = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    for i in range(blocks):
        weights.append(tensor(f"w{i}", random.standard_normal(
            (channels, channels, 3, 3), dtype=np.float32) * 0.1))
        nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1],
                                      name=f"conv{i}"))
        for part in ("scale", "bias", "mean", "var"):
            weights.append(tensor(f"{part}{i}", random.random(channels, dtype=np.float32) + 0.5))
        nodes.append(helper.make_node(
            "BatchNormalization",
            [f"c{i}", f"scale{i}", f"bias{i}", f"mean{i}", f"var{i}"], [f"b{i}"], name=f"bn{i}"))
        name = "y" if i == blocks - 1 else f"r{i}"
        nodes.append(helper.make_node("Relu", [f"b{i}"], [name], name=f"relu{i}"))
    shape = [1, channels, size, size]
    return model(nodes, [value("x", shape)], [value("y", shape)], weights)


def branches(blocks=3, width=4, channels=8, size=16):
    """Blocks of equal convolutions side by side, which one convolution can take the place of."""
    random = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    for i in range(blocks):
        parts = []
        for j in range(width):
            weights.append(tensor(f"w{i}_{j}", random.standard_normal(
                (channels // width, channels, 3, 3), dtype=np.float32) * 0.1))
            parts.append(f"c{i}_{j}")
            nodes.append(helper.make_node("Conv", [name, f"w{i}_{j}"], [parts[-1]],
                                          pads=[1, 1, 1, 1], name=f"block{i}/conv{j}"))
        nodes.append(helper.make_node("Concat", parts, [f"j{i}"], axis=1, name=f"block{i}/join"))
        name = "y" if i == blocks - 1 else f"t{i}"
        nodes.append(helper.make_node("Softmax", [f"j{i}"], [name], axis=1,
                                      name=f"block{i}/softmax"))
    shape = [1, channels, size, size]
    return model(nodes, [value("x", shape)], [value("y", shape)], weights)


def slow_to_time(layers=120, size=40):
    """Convolutions of which no two are alike: each has to be timed, which takes a while."""
    random = np.random.default_rng(0)
    nodes, weights, name = [], [], "x"
    for i in range(layers):
        inputs, outputs = 16 + i, 17 + i
        weights.append(tensor(f"w{i}", random.standard_normal(
            (outputs, inputs, 3, 3), dtype=np.float32) * 0.05))
        nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1],
                                      name=f"conv{i}"))
        name = f"r{i}"
        nodes.append(helper.make_node("Relu", [f"c{i}"], [name], name=f"relu{i}"))
    return model(nodes, [value("x", [1, 16, size, size])],
                 [value(name, [1, 16 + layers, size, size])], weights)


def chain(products=10):
    """Products in a row: more ways to form them than a small e-graph has room for."""
    random = np.random.default_rng(0)
    widths = [16] + [8 + 5 * i % 32 for i in range(1, products + 1)]
    nodes, weights, name = [], [], "x"
    for i in range(products):
        weights.append(tensor(f"w{i}", random.standard_normal(
            (widths[i], widths[i + 1]), dtype=np.float32) * 0.2))
        nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [f"p{i}"], name=f"product{i}"))
        name = f"p{i}"
    return model(nodes, [value("x", [8, widths[0]])], [value(name, [8, widths[-1]])], weights)


def endless():
    """A loop that does not end in the time of any test."""
    shape = (4, 4)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]), helper.make_node("Neg", ["s"], ["t"])],
        "body", [value("i", (), TensorProto.INT64), value("go_on", (), TensorProto.BOOL), value("s", shape)],
        [value("still", (), TensorProto.BOOL), value("t", shape)])
    constants = [tensor("times", np.array(10**15)), tensor("yes", np.array(True))]
    return model([helper.make_node("Loop", ["times", "yes", "x"], ["y"], body=body)], [value("x", shape)],
                 [value("y", shape)], constants)


def add_models(count):
    """`count` different models of one node each."""
    for i in range(count):
        yield model([helper.make_node("Add", ["x", "c"], ["y"])], [value("x", [4])],
                    [value("y", [4])], [tensor("c", np.full(4, i + 1, dtype=np.float32))])


def with_external_data(proto, path, location):
    """Saves the model with all weights in one file beside it."""
    onnx.save_model(proto, path, save_as_external_data=True, all_tensors_to_one_file=True,
                    location=location, size_threshold=0)
