"""What is inside of itself, or deep inside of others: branches, loops, types, functions."""

from onnx import helper

from cases import (Attribute, Cases, Graph, Node, X, Y, file, float_value, message, models, node, nodes, number, op)

CASES = Cases()
GRAPH_ATTRIBUTE = 5  # AttributeProto.GRAPH


def branch(name, content):
    return message(Node.ATTRIBUTE, message(Attribute.NAME, name), message(Attribute.GRAPH, content),
                   number(Attribute.TYPE, GRAPH_ATTRIBUTE))


def computing(kind, name, *attributes):
    """A graph of one node, whose result is the graph's."""
    return node(kind, ["x"], [name], *attributes) + float_value(Graph.OUTPUT, name, 4)


def ifs(depth):
    """An If in an If in ..."""
    content = computing("Relu", "y0")
    for i in range(1, depth + 1):
        content = computing("If", f"y{i}", branch("then_branch", content), branch("else_branch", computing("Neg", f"e{i}")))
    return file(content, X)


def loops(depth):
    content = computing("Relu", "y0")
    for i in range(1, depth + 1):
        content = computing("Loop", f"y{i}", branch("body", content))
    return file(content, X)


for name, build in {"Ifs": ifs, "Loops": loops}.items():
    for depth in (30, 32, 100, 1000):
        CASES.add(f"{depth} {name} inside of each other", lambda build=build, depth=depth: build(depth))


@CASES.case("10000 Ifs beside each other")
def wide():
    both = branch("then_branch", node("Relu", ["x"], ["t"]) + float_value(Graph.OUTPUT, "t", 4)) + branch(
        "else_branch", node("Neg", ["x"], ["e"]) + float_value(Graph.OUTPUT, "e", 4))
    return file(b"".join(node("If", ["x"], [f"y{i}"], both) for i in range(10_000)), X,
                float_value(Graph.OUTPUT, "y0", 4))


def type_of(kind, depth):
    """A sequence (4), optional (9) or map (5, by its value) of ... of floats."""
    content = message(1, number(1, 1))
    for _ in range(depth):
        content = message(kind, number(1, 7), message(2, content)) if kind == 5 else message(kind, message(1, content))
    return file(node("Identity", ["x"], ["y"]), message(Graph.INPUT, message(1, "x"), message(2, content)), Y)


for name, kind in {"sequences": 4, "optionals": 9, "maps": 5}.items():
    for depth in (10, 1000):
        CASES.add(f"{depth} {name} of each other", lambda kind=kind, depth=depth: type_of(kind, depth))


# --- Functions.

def function(name, *body, inputs=("a",), outputs=("b",)):
    return helper.make_function("local", name, list(inputs), list(outputs), list(body),
                                [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])


def call(name, inputs=("a",), outputs=("b",)):
    return helper.make_node(name, list(inputs), list(outputs), domain="local", name=f"call_{name}")


def calling(name, *functions):
    """A model that calls a function."""
    model = nodes(call(name, ["x"], ["y"]), functions=functions)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


def chain(length):
    """Each function calls the next one."""
    links = [function(f"f{i}", call(f"f{i + 1}")) for i in range(length)]
    return calling("f0", *links, function(f"f{length}", op("Relu", ["a"], ["b"])))


def doubling(levels):
    """Each function calls the next one twice: 2^levels nodes, if calls are replaced by bodies."""
    pairs = [function(f"f{i}", call(f"f{i + 1}", ["a"], ["m"]), call(f"f{i + 1}", ["m"], ["b"])) for i in range(levels)]
    return calling("f0", *pairs, function(f"f{levels}", op("Relu", ["a"], ["b"])))


def inside_branch():
    """A function that calls itself from a branch."""
    body = helper.make_graph([call("f", ["a"], ["t"])], "body", [], [models.value("t", [4])])
    other = helper.make_graph([op("Neg", ["a"], ["e"])], "other", [], [models.value("e", [4])])
    return calling("f", function("f", op("If", ["a"], ["b"], then_branch=body, else_branch=other)))


for name, model in [
        ("a function that calls itself", lambda: calling("f", function("f", call("f")))),
        ("two functions that call each other", lambda: calling("f", function("f", call("g")), function("g", call("f")))),
        ("a function that calls itself from a branch", inside_branch),
        ("a cycle of 10000 functions", lambda: calling(
            "f0", *[function(f"f{i}", call(f"f{(i + 1) % 10_000}")) for i in range(10_000)])),
        ("an unused function that calls itself", lambda: nodes(op("Relu", ["x"]), functions=[function("f", call("f"))])),
        ("functions that call each other 64 deep", lambda: chain(63)),
        ("functions that call each other 1000 deep", lambda: chain(1000)),
        ("functions that call each other 9999 deep", lambda: chain(9_999)),
        ("10001 functions", lambda: chain(10_000)),
        ("functions that double 30 times", lambda: doubling(30)),
        ("functions that double 60 times", lambda: doubling(60)),
        ("two functions of a name", lambda: calling("f", *[function("f", op("Relu", ["a"], ["b"]))] * 2)),
        ("a function without a body", lambda: calling("f", function("f"))),
        ("a function that reads what is not its own", lambda: calling("f", function("f", op("Add", ["a", "x"], ["b"])))),
        ("a function with a cycle", lambda: calling(
            "f", function("f", op("Add", ["a", "c"], ["b"]), op("Relu", ["b"], ["c"])))),
        ("a function with two inputs of a name", lambda: calling(
            "f", function("f", op("Relu", ["a"], ["b"]), inputs=("a", "a")))),
        ("a function of a name that operators have", lambda: nodes(op("Relu", ["x"]), functions=[helper.make_function(
            "", "Relu", ["a"], ["b"], [op("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)])])),
        ("a call with too many inputs", lambda: nodes(
            call("f", ["x", "x", "x"], ["y"]), functions=[function("f", op("Relu", ["a"], ["b"]))])),
        ("a function that is not there", lambda: calling("g", function("f", op("Relu", ["a"], ["b"])))),
]:
    CASES.add(name, model)
