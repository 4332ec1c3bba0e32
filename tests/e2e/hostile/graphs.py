"""Graphs that contradict themselves: cycles, names, operators and versions that are not what they should be."""

from onnx import TensorProto, helper

from cases import (OPSET_17, Attribute, Cases, Graph, Model, Node, X, Y, constants, file, float_value, message, models,
                   node, nodes, number, op, raw_tensor, relu_and)

CASES = Cases()


def network():
    return models.conv_bn_relu(1)


def changed(change):
    """A network in which one thing is wrong."""
    def build():
        model = network()
        change(model)
        return model
    return build


def setting(**fields):
    return changed(lambda model: [setattr(model, name, value) for name, value in fields.items()])


def followed_by_a_riddle(model):
    model.graph.node.append(op("Mystery", ["y"], ["z"]))
    model.graph.output.append(models.value("z", None))


# --- Cycles.

def ring(size):
    ops = b"".join(node("Relu", [f"v{i}"], [f"v{(i + 1) % size}"], message(Node.NAME, f"n{i}")) for i in range(size))
    return file(ops, float_value(Graph.OUTPUT, "v0", 4))


for size in (1, 2, 3, 100_000):
    CASES.add(f"a cycle of {size}", lambda size=size: ring(size))


@CASES.case("a cycle through a branch")
def through_branch():
    body = helper.make_graph([op("Neg", ["late"], ["inner"])], "body", [], [models.value("inner", [4])])
    other = helper.make_graph([op("Neg", ["x"], ["else_inner"])], "other", [], [models.value("else_inner", [4])])
    return nodes(op("If", ["yes"], ["early"], then_branch=body, else_branch=other), op("Relu", ["early"], ["late"]),
                 op("Add", ["early", "late"]), initializers=constants(yes=True))


# --- Names.

LONG = "n" * 10_000_000
for name, model in [
        ("two nodes compute the same", lambda: nodes(op("Relu", ["x"]), op("Neg", ["x"]))),
        ("an output that is an input", lambda: nodes(op("Relu", ["x"], ["x"]), op("Neg", ["x"]))),
        ("an output that is a constant", lambda: nodes(op("Relu", ["x"], ["c"]), op("Neg", ["c"]),
                                                       initializers=[raw_tensor([4], b"1" * 16)])),
        ("two inputs of a name", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [4]), ("x", [5])])),
        ("two outputs of a name", lambda: nodes(op("Relu", ["x"]), outputs=[("y", [4]), ("y", [4])])),
        ("two constants of a name", changed(lambda m: m.graph.initializer.append(m.graph.initializer[0]))),
        ("an output that nobody computes", lambda: nodes(op("Relu", ["x"]), outputs=[("z", [4])])),
        ("an input that nobody computes", lambda: nodes(op("Relu", ["nothing"]))),
        ("an input without a name", lambda: nodes(op("Relu", ["x"]), inputs=[("", [4]), ("x", [4])])),
        ("an output without a name", lambda: nodes(op("Relu", ["x"]), outputs=[("", [4])])),
        ("a node without outputs", lambda: nodes(op("Relu", ["x"]), op("Neg", ["x"], []))),
        ("a node without inputs", lambda: nodes(op("Relu", []))),
        ("an output twice", lambda: nodes(op("Split", ["x"], ["y", "y"], num_outputs=2), opset=18)),
        ("a name with a NUL", lambda: nodes(op("Relu", ["x"], ["a\0b"]), op("Neg", ["a\0b"]))),
        ("a name with line ends", lambda: nodes(op("Relu", ["x"], ["a\nb\r"]), op("Neg", ["a\nb\r"]))),
        ("a name with an escape sequence", lambda: nodes(op("Relu", ["x"], ["\x1b[2J"]), op("Neg", ["\x1b[2J"]))),
        ("a name with markup", lambda: nodes(op("Relu", ["x"], ["<script>alert(1)</script>"]),
                                             op("Neg", ["<script>alert(1)</script>"]))),
        ("a name written from right to left", lambda: nodes(op("Relu", ["x"], ["\u202ea"]), op("Neg", ["\u202ea"]))),
        ("a name of 4097 bytes", lambda: nodes(op("Relu", ["x"], [LONG[:4097]]), op("Neg", [LONG[:4097]]))),
        ("a value's name of 10 MB", lambda: nodes(op("Relu", ["x"], [LONG]), op("Neg", [LONG]))),
        ("a node's name of 10 MB", changed(lambda m: setattr(m.graph.node[0], "name", LONG))),
        ("an operator's name of 10 MB", lambda: nodes(helper.make_node(LONG, ["x"], ["y"], name="n"))),
        ("a domain of 10 MB", lambda: nodes(helper.make_node("Relu", ["x"], ["y"], domain=LONG))),
        ("a symbol of 10 MB", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [LONG])])),
        ("a graph's name of 10 MB", changed(lambda m: setattr(m.graph, "name", LONG))),
        ("an attribute's name of 10 MB", lambda: nodes(helper.make_node("Relu", ["x"], ["y"], **{LONG: 1}))),
        ("metadata of 10 MB", changed(lambda m: m.metadata_props.add(key=LONG, value=LONG))),
        ("a name that is no text", lambda: network().SerializeToString().replace(b"conv0", b"con\xff0")),
        ("a name with half a surrogate", lambda: network().SerializeToString().replace(b"conv0", b"\xed\xa0\x80v0")),
        ("an operator that is no text", lambda: network().SerializeToString().replace(b"Relu", b"Re\xff\xfe")),
]:
    CASES.add(name, model)

# --- Graphs.

for name, model in [
        ("no graph", lambda: number(Model.IR, 8) + OPSET_17),
        ("an empty graph", lambda: file()),
        ("a graph without outputs", lambda: file(node("Relu", ["x"], ["y"]), X)),
        ("an input that is the output", lambda: file(X, float_value(Graph.OUTPUT, "x", 4))),
        ("an operator without a name", lambda: file(node("", ["x"], ["y"]), X, Y)),
        ("two graphs", lambda: relu_and() + message(Model.GRAPH, message(Graph.NAME, "again"), X, Y)),
        ("an input of 10^5 dimensions", lambda: relu_and(float_value(Graph.INPUT, "z", *[1] * 100_000))),
        ("an input of 2^62", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [2**62])])),
        ("an input whose size wraps", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [2**32, 2**32])])),
        ("an input of -1", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [-1])])),
        ("an input of -7", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [-7])])),
        ("an input of 2^40 - 1", lambda: nodes(op("Relu", ["x"]), inputs=[("x", [2**40 - 1])])),
        ("an input of no type", changed(lambda m: m.graph.input[0].ClearField("type"))),
        ("an input of type 99", changed(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99))),
        ("a value info that contradicts", changed(lambda m: m.graph.value_info.append(models.value("c0", [7])))),
        ("a value info of 2^62", changed(lambda m: m.graph.value_info.append(models.value("c0", [2**62])))),
        ("an output of another type", changed(
            lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", TensorProto.STRING))),
        ("a weight of another shape", changed(
            lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_value", 3))),
        ("a weight that is an input of another shape", changed(
            lambda m: m.graph.input.append(models.value("w0", [3])))),
]:
    CASES.add(name, model)


# --- Nodes and attributes.

def attribute(kind, *fields):
    """A Relu with an attribute of these bytes."""
    return file(node("Relu", ["x"], ["y"], message(Node.ATTRIBUTE, message(Attribute.NAME, "a"),
                                                   number(Attribute.TYPE, kind), *fields)), X, Y)


for name, model in [
        ("10^5 inputs of an Add", lambda: nodes(op("Add", ["x"] * 100_000))),
        ("10^5 inputs of a Sum", lambda: nodes(op("Sum", ["x"] * 100_000))),
        ("10^5 inputs of a Concat", lambda: nodes(op("Concat", ["x"] * 100_000, axis=0))),
        ("an Add of one", lambda: nodes(op("Add", ["x"]))),
        ("two attributes of a name", changed(lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0]))),
        ("an attribute without a name", lambda: file(node("Relu", ["x"], ["y"], message(
            Node.ATTRIBUTE, number(Attribute.TYPE, 2), number(Attribute.I, 1))), X, Y)),
        ("an attribute of type 0", lambda: attribute(0, number(Attribute.I, 1))),
        ("an attribute of type 99", lambda: attribute(99, number(Attribute.I, 1))),
        ("an attribute of two values", lambda: attribute(2, number(Attribute.I, 1), message(4, "s"))),
        ("an attribute of another type than it says", lambda: attribute(7, number(Attribute.I, 1))),
        ("an attribute that refers to a function's", lambda: attribute(2, message(21, "outer"))),
        ("pads that are text", lambda: nodes(op("Conv", ["x", "c"], pads="SAME"),
                                             initializers=[raw_tensor([1, 1, 1, 1], b"1234")])),
        ("257 attributes", lambda: nodes(op("Relu", ["x"], **{f"a{i}": i for i in range(257)}))),
        ("an axis of 2^62", lambda: nodes(op("Softmax", ["x"], axis=2**62))),
        ("an axis of -2^63", lambda: nodes(op("Concat", ["x", "x"], axis=-2**63))),
        ("an unknown operator", lambda: nodes(op("Mystery", ["x"]))),
        ("an unknown operator behind what can be optimized", changed(followed_by_a_riddle)),
        ("an operator of an unknown domain", lambda: nodes(helper.make_node("Relu", ["x"], ["y"], domain="evil"))),
        ("an operator called ../../x", lambda: nodes(helper.make_node("../../x", ["x"], ["y"]))),
        ("an operator that is a format", lambda: nodes(helper.make_node("%s%n{}", ["x"], ["y"]))),
]:
    CASES.add(name, model)

# --- Versions.

for name, model in [
        ("IR version 0", setting(ir_version=0)),
        ("IR version -1", setting(ir_version=-1)),
        ("IR version 1", setting(ir_version=1)),
        ("IR version 9999", setting(ir_version=9999)),
        ("IR version 2^63 - 1", setting(ir_version=2**63 - 1)),
        ("no IR version", changed(lambda m: m.ClearField("ir_version"))),
        ("no opset", changed(lambda m: m.ClearField("opset_import"))),
        ("opset 0", lambda: nodes(op("Relu", ["x"]), opset=0)),
        ("opset -1", lambda: nodes(op("Relu", ["x"]), opset=-1)),
        ("opset 9999", lambda: nodes(op("Relu", ["x"]), opset=9999)),
        ("opset 2^63 - 1", lambda: nodes(op("Relu", ["x"]), opset=2**63 - 1)),
        ("opset -2^63", lambda: nodes(op("Relu", ["x"]), opset=-2**63)),
        ("two opsets of a domain", changed(lambda m: m.opset_import.append(helper.make_opsetid("", 7)))),
        ("two names of the usual domain", changed(lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 7)))),
        ("65 opsets", changed(lambda m: m.opset_import.extend(helper.make_opsetid(f"d{i}", 1) for i in range(65)))),
]:
    CASES.add(name, model)
