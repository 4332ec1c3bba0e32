"""Models of which the nodes grow, or the operands of one node. Each function takes the size and returns a ModelProto,
or takes what its nodes are and returns such a function.
"""
import numpy as np
from onnx import helper

from parts import DIMS, FLOAT, chain, constant, model, node, random, value


# --- one node of n operands

def repeated(operator, dims=None, **attributes):
    def make(n):
        out = [2 * n, 4] if operator == "Concat" else DIMS
        return model([node(operator, ["x"] * n, "y", **attributes)], [value("y", out)])
    return make


def of_inputs(operator, **attributes):
    def make(n):
        names = [f"x{i}" for i in range(n)]
        out = [2 * n, 4] if operator == "Concat" else DIMS
        return model([node(operator, names, "y", **attributes)], [value("y", out)], [value(name) for name in names])
    return make


def of_nodes(operator, **attributes):
    def make(n):
        out = [2 * n, 4] if operator == "Concat" else DIMS
        nodes = [node("Add", ["x", f"c{i}"], f"v{i}") for i in range(n)]
        nodes.append(node(operator, [f"v{i}" for i in range(n)], "y", **attributes))
        return model(nodes, [value("y", out)], None, [random(f"c{i}", 4) for i in range(n)])
    return make


def of_initializers(operator, **attributes):
    def make(n):
        out = [2 * n + 2, 4] if operator == "Concat" else DIMS
        names = [f"c{i}" for i in range(n)]
        return model([node(operator, ["x"] + names, "y", **attributes)], [value("y", out)], None,
                     [random(name, *DIMS) for name in names])
    return make


# --- n nodes in a row

def chain_of_two(operator, dims, weight):
    def make(n):
        nodes = [node(operator, [f"v{i}" if i else "x", f"c{i}"], f"v{i + 1}") for i in range(n)]
        return model(nodes, [value(f"v{n}", dims)], [value("x", dims)],
                     [weight(f"c{i}") for i in range(n)])
    return make


def reshapes(n):
    nodes = [node("Reshape", [f"v{i}" if i else "x", f"s{i % 2}"], f"v{i + 1}") for i in range(n)]
    shapes = [constant("s0", np.array([8], np.int64)), constant("s1", np.array(DIMS, np.int64))]
    return model(nodes, [value(f"v{n}", [8] if n % 2 else DIMS)], None, shapes)


def transposes(n):
    orders = [[1, 2, 0, 3], [0, 2, 1, 3], [3, 1, 2, 0]]
    nodes = [node("Transpose", [f"v{i}" if i else "x"], f"v{i + 1}", perm=orders[i % 3]) for i in range(n)]
    return model(nodes, [value(f"v{n}", [2, 2, 2, 2])], [value("x", [2, 2, 2, 2])])


def moves(n):
    """Reshape, Transpose and Relu in turns, so that no two can be put together."""
    nodes, name = [], "x"
    for i in range(n):
        kind = i % 3
        inputs = [name, f"s{i // 3 % 2}"] if kind == 0 else [name]
        attributes = {"perm": [1, 0] if i // 3 % 2 else [2, 1, 0]} if kind == 1 else {}
        nodes.append(node(["Reshape", "Transpose", "Relu"][kind], inputs, f"v{i}", **attributes))
        name = f"v{i}"
    shapes = [constant("s0", np.array([2, 2, 2], np.int64)), constant("s1", np.array(DIMS, np.int64))]
    return model(nodes, [helper.make_tensor_value_info(name, FLOAT, None)], None, shapes)


def residual(n):
    nodes = []
    for i in range(n // 2):
        name = f"v{2 * i - 1}" if i else "x"
        nodes += [node("Sigmoid", [name], f"v{2 * i}"), node("Add", [name, f"v{2 * i}"], f"v{2 * i + 1}")]
    return model(nodes, [value(f"v{n // 2 * 2 - 1}")])


def mirrored(n):
    """A chain down and up again; each node on the way up reads its partner on the way down."""
    half = n // 2
    nodes = [node("Sigmoid", [f"d{i - 1}" if i else "x"], f"d{i}") for i in range(half)]
    for i in range(half):
        nodes.append(node("Add", [f"u{i - 1}" if i else f"d{half - 1}", f"d{half - 1 - i}"], f"u{i}"))
    return model(nodes, [value(f"u{half - 1}")])


def attention(n):
    dims = [1, 4, 8]
    nodes, weights, name = [], [], "x"
    for i in range(n // 8):
        for part in "qkv":
            weights.append(random(f"w{part}{i}", 8, 8))
            nodes.append(node("MatMul", [name, f"w{part}{i}"], f"{part}{i}"))
        nodes += [node("Transpose", [f"k{i}"], f"kt{i}", perm=[0, 2, 1]), node("MatMul", [f"q{i}", f"kt{i}"], f"s{i}"),
                  node("Softmax", [f"s{i}"], f"p{i}", axis=-1), node("MatMul", [f"p{i}", f"v{i}"], f"a{i}"),
                  node("Add", [f"a{i}", name], f"o{i}")]
        name = f"o{i}"
    return model(nodes, [value(name, dims)], [value("x", dims)], weights)


def backwards(n):
    made = chain("Sigmoid", "Tanh")(n)
    nodes = list(made.graph.node)
    del made.graph.node[:]
    made.graph.node.extend(reversed(nodes))
    return made


# --- n nodes side by side

def side_by_side(n):
    return model([node("Sigmoid", [f"x{i}"], f"y{i}") for i in range(n)], [value(f"y{i}") for i in range(n)],
                 [value(f"x{i}") for i in range(n)])


def fan_out(n):
    nodes = [node("Add", ["r", f"c{i}"], f"y{i}") for i in range(n)]
    return model([node("Relu", ["x"], "r")] + nodes, [value(f"y{i}") for i in range(n)], None,
                 [random(f"c{i}", 4) for i in range(n)])


def equal_nodes(n):
    return model([node("Sigmoid", ["x"], f"y{i}") for i in range(n)], [value(f"y{i}") for i in range(n)])


def siblings(operator, dims, weight_dims, out_dims, joined):
    def make(n):
        nodes = [node(operator, ["x", f"w{i}"], f"y{i}") for i in range(n)]
        weights = [random(f"w{i}", *weight_dims) for i in range(n)]
        outputs = [value(f"y{i}", out_dims) for i in range(n)]
        if joined:
            nodes.append(node("Concat", [f"y{i}" for i in range(n)], "y", axis=1))
            outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
        return model(nodes, outputs, [value("x", dims)], weights)
    return make


def split(joined):
    def make(n):
        parts = [f"p{i}" for i in range(n)]
        lengths = constant("lengths", np.full(n, 1, np.int64))
        if not joined:
            return model([node("Split", ["x", "lengths"], parts, axis=0)], [value(part, [1, 4]) for part in parts],
                         [value("x", [n, 4])], [lengths])
        nodes = [node("Split", ["x", "lengths"], parts, axis=0)]
        nodes += [node("Sigmoid", [part], f"v{part}") for part in parts]
        nodes.append(node("Concat", [f"v{part}" for part in parts], "y", axis=0))
        return model(nodes, [value("y", [n, 4])], [value("x", [n, 4])], [lengths])
    return make


def slices(n):
    nodes, bounds = [], [constant(f"b{i}", np.array([i], np.int64)) for i in range(n + 1)]
    for i in range(n):
        nodes.append(node("Slice", ["x", f"b{i}", f"b{i + 1}", "b0"], f"v{i}"))
    nodes.append(node("Concat", [f"v{i}" for i in range(n)], "y", axis=0))
    return model(nodes, [value("y", [n, 4])], [value("x", [n, 4])], bounds)


def slices_used(n):
    made = slices(n)
    for i, part in enumerate(made.graph.node[:n]):
        made.graph.node[n].input[i] = f"r{i}"
        made.graph.node.append(node("Sigmoid", [part.output[0]], f"r{i}"))
    return made


def gathers(n):
    nodes = [node("Gather", ["x", f"i{i}"], f"v{i}", axis=0) for i in range(n)]
    nodes.append(node("Concat", [f"v{i}" for i in range(n)], "y", axis=0))
    indices = [constant(f"i{i}", np.array([(7 * i) % n], np.int64)) for i in range(n)]
    return model(nodes, [value("y", [n, 4])], [value("x", [n, 4])], indices)


def tree(operator, leaf_dims, **attributes):
    """A balanced binary tree over n graph inputs."""
    def make(n):
        level, nodes = [f"x{i}" for i in range(n)], []
        inputs = [value(name, leaf_dims) for name in level]
        while len(level) > 1:
            above = []
            for i in range(0, len(level) - 1, 2):
                above.append(f"v{len(nodes)}")
                nodes.append(node(operator, [level[i], level[i + 1]], above[-1], **attributes))
            level = above + level[len(above) * 2:]
        return model(nodes, [helper.make_tensor_value_info(level[0], FLOAT, None)], inputs)
    return make


def comb(n):
    """An Add chain over n graph inputs: the deepest tree that there is."""
    nodes = [node("Add", [f"v{i - 1}" if i else "x", f"x{i}"], f"v{i}") for i in range(n)]
    return model(nodes, [value(f"v{n - 1}")], [value("x")] + [value(f"x{i}") for i in range(n)])


def nested_concats(n):
    """Two levels of about sqrt(n) Concats: n levels would have n * n elements."""
    width = max(2, int(n ** 0.5))
    nodes = []
    for i in range(width):
        nodes.append(node("Concat", [f"x{i * width + k}" for k in range(width)], f"v{i}", axis=0))
    nodes.append(node("Concat", [f"v{i}" for i in range(width)], "y", axis=0))
    return model(nodes, [value("y", [2 * width * width, 4])], [value(f"x{i}") for i in range(width * width)])
