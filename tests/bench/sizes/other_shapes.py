"""Models of which something grows that is no node: inputs, symbols, constants, names, functions; and those with
subgraphs. Each function takes the size and returns a ModelProto.
"""
import numpy as np
from onnx import AttributeProto, TensorProto, helper

from parts import chain, constant, model, node, random, value

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
