"""Models of one shape each, in any size: what grows is the number of nodes, operands or names, and hardly
anything else. Each function takes the size and returns a ModelProto; SHAPES has them by name. It is a
table with a function per row, and a new shape is both, so they are in one file.
"""
import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
DIMS = [2, 4]


def value(name, dims=None, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, DIMS if dims is None else dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def random(name, *dims):
    rng = np.random.default_rng(abs(hash_of(name)))
    return constant(name, rng.standard_normal(dims).astype(np.float32))


def hash_of(name):
    return sum((i + 1) * ord(c) for i, c in enumerate(name))


def node(operator, inputs, output, **attributes):
    # helper.make_node sorts and checks far more than is needed for 100,000 nodes.
    outputs = [output] if isinstance(output, str) else output
    if attributes:
        return helper.make_node(operator, inputs, outputs, **attributes)
    made = helper.NodeProto()
    made.op_type = operator
    made.input.extend(inputs)
    made.output.extend(outputs)
    return made


def model(nodes, outputs, inputs=None, initializers=(), opset=17):
    graph = helper.GraphProto()
    graph.name = "g"
    graph.node.extend(nodes)
    graph.input.extend([value("x")] if inputs is None else inputs)
    graph.output.extend(outputs)
    graph.initializer.extend(initializers)
    made = ModelProto()
    made.ir_version = 8
    made.opset_import.append(helper.make_opsetid("", opset))
    made.graph.CopyFrom(graph)
    return made


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

def chain(*operators, **settings):
    def make(n):
        nodes = [node(operators[i % len(operators)], [f"v{i}"], f"v{i + 1}") for i in range(n)]
        nodes[0].input[0] = "x"
        return model(nodes, [value(f"v{n}")], **settings)
    return make


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


# --- n of what is not a node

def unused_inputs(n):
    return model([node("Relu", ["x"], "y")], [value("y")], [value("x")] + [value(f"x{i}") for i in range(n)])


def symbols(n):
    inputs = [value(f"x{i}", [f"N{i}", 4]) for i in range(n)]
    return model([node("Sigmoid", [f"x{i}"], f"y{i}") for i in range(n)],
                 [value(f"y{i}", [f"N{i}", 4]) for i in range(n)], inputs)


def unused_initializers(n):
    return model([node("Relu", ["x"], "y")], [value("y")], None, [random(f"c{i}", 4) for i in range(n)])


def constants(n):
    nodes = []
    for i in range(n):
        made = node("Constant", [], f"c{i}")
        attribute = made.attribute.add()
        attribute.name, attribute.type = "value", AttributeProto.TENSOR
        attribute.t.CopyFrom(random("", 4))
        attribute.t.raw_data = np.float32([i, 1, 2, 3]).tobytes()
        nodes.append(made)
    nodes.append(node("Sum", ["x"] + [f"c{i}" for i in range(n)], "y"))
    return model(nodes, [value("y")])


def value_infos(n):
    made = chain("Sigmoid", "Tanh")(n)
    made.graph.value_info.extend([value(f"v{i}") for i in range(1, n)] + [value(f"stale{i}") for i in range(n)])
    return made


def metadata(n):
    made = chain("Sigmoid", "Tanh")(max(1, n // 10))
    for i in range(n):
        made.metadata_props.add(key=f"key{i}", value=f"value {i}")
    for i, one in enumerate(made.graph.node):
        one.name = f"node {i}"
        one.doc_string = f"what node {i} is good for"
    return made


def long_names(n):
    made = chain("Sigmoid", "Tanh")(n)
    prefix = "model/encoder/a/common/beginning/of/all/names/" * 5
    for one in made.graph.node:
        one.name = prefix + one.output[0]
        for names in (one.input, one.output):
            names[0] = prefix + names[0] if names[0] != "x" else "x"
    made.graph.output[0].name = prefix + made.graph.output[0].name
    return made


def functions(n):
    made = model([node("Twice", [f"v{i}" if i else "x"], f"v{i + 1}") for i in range(n)], [value(f"v{n}")])
    for one in made.graph.node:
        one.domain = "own"
    made.opset_import.append(helper.make_opsetid("own", 1))
    made.functions.append(helper.make_function(
        "own", "Twice", ["a"], ["b"], [node("Sigmoid", ["a"], "c"), node("Tanh", ["c"], "b")],
        [helper.make_opsetid("", 17)]))
    return made


def many_functions(n):
    made = model([node(f"F{i % 10000}", [f"v{i}" if i else "x"], f"v{i + 1}") for i in range(n)], [value(f"v{n}")])
    for one in made.graph.node:
        one.domain = "own"
    made.opset_import.append(helper.make_opsetid("own", 1))
    made.functions.extend(helper.make_function(
        "own", f"F{i}", ["a"], ["b"], [node("Sigmoid", ["a"], "b")], [helper.make_opsetid("", 17)])
        for i in range(min(n, 10000)))
    return made


# --- subgraphs

def graph_of(name, nodes, outputs, inputs=()):
    graph = helper.GraphProto()
    graph.name = name
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.output.extend(outputs)
    return graph


def captures(n):
    before = [node("Add", ["x", f"c{i}"], f"v{i}") for i in range(n)]
    names = [f"v{i}" for i in range(n)]
    branch = graph_of("then", [node("Sum", names, "t")], [value("t")])
    other = graph_of("else", [node("Max", names, "e")], [value("e")])
    choice = node("If", ["condition"], "y", then_branch=branch, else_branch=other)
    return model(before + [choice], [value("y")], [value("x"), value("condition", [], TensorProto.BOOL)],
                 [random(f"c{i}", 4) for i in range(n)])


def many_ifs(n):
    nodes = []
    for i in range(n):
        name = f"v{i}" if i else "x"
        branches = [graph_of(kind, [node(operator, [name], f"{kind}{i}")], [value(f"{kind}{i}")])
                    for kind, operator in (("then", "Sigmoid"), ("else", "Tanh"))]
        nodes.append(node("If", ["condition"], f"v{i + 1}", then_branch=branches[0], else_branch=branches[1]))
    return model(nodes, [value(f"v{n}")], [value("x"), value("condition", [], TensorProto.BOOL)])


def loop_body(n):
    nodes = [node("Sigmoid" if i % 2 else "Tanh", [f"b{i}"], f"b{i + 1}") for i in range(n)]
    nodes.append(node("Identity", ["go"], "go_on"))
    body = graph_of("body", nodes, [value("go_on", [], TensorProto.BOOL), value(f"b{n}")],
                    [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("b0")])
    loop = node("Loop", ["trips", "", "x"], "y", body=body)
    return model([loop], [value("y")], None, [constant("trips", np.int64(3))])


def matrix(name):
    return constant(name, np.eye(4, dtype=np.float32) + 0.01 * (hash_of(name) % 97) / 97)


def kernel(name):
    return constant(name, np.float32(0.1) * (1 + hash_of(name) % 7) * np.ones([4, 4, 1, 1], np.float32))


def vector(name):
    return random(name, 4)


SHAPES = {
    "concat_repeated": repeated("Concat", axis=0),
    "concat_inputs": of_inputs("Concat", axis=0),
    "concat_nodes": of_nodes("Concat", axis=0),
    "concat_initializers": of_initializers("Concat", axis=0),
    "sum_repeated": repeated("Sum"),
    "sum_inputs": of_inputs("Sum"),
    "sum_nodes": of_nodes("Sum"),
    "max_inputs": of_inputs("Max"),
    "min_inputs": of_inputs("Min"),
    "mean_inputs": of_inputs("Mean"),
    "max_initializers": of_initializers("Max"),
    "chain": chain("Sigmoid", "Tanh"),
    "chain_relu": chain("Relu"),
    "chain_neg": chain("Neg"),
    "chain_identity": chain("Identity"),
    "chain_add": chain_of_two("Add", DIMS, vector),
    "chain_mul": chain_of_two("Mul", DIMS, vector),
    "chain_matmul": chain_of_two("MatMul", DIMS, matrix),
    "chain_conv": chain_of_two("Conv", [1, 4, 2, 2], kernel),
    "chain_opaque": chain("Acos", "Atan"),
    "backwards": backwards,
    "reshapes": reshapes,
    "transposes": transposes,
    "moves": moves,
    "residual": residual,
    "mirrored": mirrored,
    "attention": attention,
    "side_by_side": side_by_side,
    "fan_out": fan_out,
    "equal_nodes": equal_nodes,
    "matmul_siblings": siblings("MatMul", DIMS, [4, 2], [2, 2], False),
    "conv_siblings": siblings("Conv", [1, 2, 2, 2], [2, 2, 1, 1], [1, 2, 2, 2], False),
    "matmul_siblings_joined": siblings("MatMul", DIMS, [4, 2], [2, 2], True),
    "conv_siblings_joined": siblings("Conv", [1, 2, 2, 2], [2, 2, 1, 1], [1, 2, 2, 2], True),
    "split": split(False),
    "split_joined": split(True),
    "slices": slices,
    "slices_used": slices_used,
    "gathers": gathers,
    "add_tree": tree("Add", DIMS),
    "max_tree": tree("Max", DIMS),
    "concat_tree": tree("Concat", DIMS, axis=0),
    "comb": comb,
    "nested_concats": nested_concats,
    "unused_inputs": unused_inputs,
    "symbols": symbols,
    "unused_initializers": unused_initializers,
    "constants": constants,
    "value_infos": value_infos,
    "metadata": metadata,
    "long_names": long_names,
    "functions": functions,
    "many_functions": many_functions,
    "captures": captures,
    "many_ifs": many_ifs,
    "loop_body": loop_body,
}
