"""Blocks with subgraphs, and quantized ones."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import operators as o
from blocks import block, is_float32, is_image, is_matrix, is_sequence, require


def value_info(name, kind=TensorProto.FLOAT, rank=None):
    return helper.make_tensor_value_info(name, kind, None if rank is None else [None] * rank)


def branch(g, x):
    """A body of a few nodes over the outer value x, with weights of its own."""
    nodes, weights, name = [], [], x.name
    for _ in range(g.random.randint(1, 3)):
        kind = g.pick("Relu", "Tanh", "Add", "Mul", "Neg", "Identity", "Transpose")
        made = g.fresh(kind)
        inputs = [name]
        if kind in ("Add", "Mul"):
            weights.append(numpy_helper.from_array(
                g.numpy.standard_normal([]).astype(np.float32), g.fresh("inner")))
            inputs.append(weights[-1].name)
        if kind == "Transpose":
            back = g.fresh(kind)
            perm = list(range(x.rank))[::-1]
            nodes.append(helper.make_node(kind, inputs, [back], perm=perm))
            nodes.append(helper.make_node(kind, [back], [made], perm=perm))
        else:
            nodes.append(helper.make_node(kind, inputs, [made]))
        name = made
    return helper.make_graph(nodes, g.fresh("body"), [], [value_info(name)], weights)


@block(is_float32, 1)
def conditional(g, x):
    """If over a bool input, a comparison of a size, or a constant; branches capture x."""
    form = g.random.randint(0, 2)
    if form == 0:
        condition = g.input("flag", np.bool_, [], "bool", make=lambda s: np.array(True))
    elif form == 1:
        g.need(9)
        size = o.size_of(g, x, 0)
        condition = g.op("Greater", size, g.ints(2))
        condition = o.squeeze(g, condition, [0]) if g.chance(0.6) else condition
    else:
        condition = g.constant(np.array(g.chance(0.5)))
    y = g.op("Relu", x) if g.chance(0.3) else x
    return g.op("If", condition, captures=[x, y], then_branch=branch(g, x),
                else_branch=branch(g, y))


@block(is_float32, 0.8)
def loop(g, x):
    """A Loop that carries x, with an outer value added in each turn."""
    outer = g.op("Tanh", x)
    turn, going, state, new, still = (g.fresh(h) for h in ("turn", "go", "state", "new", "still"))
    factor = numpy_helper.from_array(np.array(0.5, np.float32), g.fresh("inner"))
    half = g.fresh("half")
    body = helper.make_graph(
        [helper.make_node("Mul", [state, factor.name], [half]),
         helper.make_node("Add", [half, outer.name], [new]),
         helper.make_node("Identity", [going], [still])],
        g.fresh("body"),
        [value_info(turn, TensorProto.INT64, 0), value_info(going, TensorProto.BOOL, 0),
         value_info(state, rank=x.rank)],
        [value_info(still, TensorProto.BOOL, 0), value_info(new, rank=x.rank)], [factor])
    count = g.constant(np.array(g.pick(0, 1, 3), np.int64))
    going_in = g.constant(np.array(True))
    return g.op("Loop", count, going_in, x, captures=[outer], body=body)


@block(lambda x: is_matrix(x) or is_sequence(x), 0.8)
def scan(g, x):
    """A Scan over the first axis that sums rows and captures a weight."""
    g.need(9)
    require(all(x.dim(axis) for axis in range(1, x.rank)))
    state, row, total, out = (g.fresh(h) for h in ("state", "row", "total", "out"))
    outer = g.weight(x.dim(x.rank - 1))
    shape = [x.dim(axis) for axis in range(1, x.rank)]
    body = helper.make_graph(
        [helper.make_node("Add", [state, row], [total]),
         helper.make_node("Mul", [total, outer.name], [out])],
        g.fresh("body"), [value_info(state, rank=x.rank - 1), value_info(row, rank=x.rank - 1)],
        [value_info(total, rank=x.rank - 1), value_info(out, rank=x.rank - 1)])
    start = g.constant(np.zeros(shape, np.float32))
    return g.op("Scan", start, x, captures=[outer], outputs=2, body=body, num_scan_inputs=1)


@block(is_float32, 1.5)
def quantized(g, x):
    """QuantizeLinear and DequantizeLinear around a value, per tensor."""
    g.need(10)
    g.low_precision = True
    scale = g.constant(np.array(g.pick(0.05, 0.01, 0.125), np.float32))
    signed = g.chance(0.5)
    zero = g.constant(np.array(g.pick(0, 3) if signed else g.pick(0, 128),
                               np.int8 if signed else np.uint8))
    y = g.op("QuantizeLinear", x, scale, zero)
    if g.chance(0.1):
        return y
    y = g.op("DequantizeLinear", y, scale, zero)
    return g.op("Relu", y) if g.chance(0.3) else y


@block(lambda x: is_image(x) or is_matrix(x), 1)
def quantized_weight(g, x):
    """A Conv or MatMul whose weight is dequantized, per channel where the opset has it."""
    g.need(13)
    channels = x.dim(1)
    shape = (4, channels, 1, 1) if x.rank == 4 else (channels, 4)
    stored = g.constant(g.numpy.integers(-127, 128, shape).astype(np.int8))
    axis = 0 if x.rank == 4 else 1
    if g.chance(0.5):
        scale = g.constant((0.01 * (1 + g.numpy.random(4))).astype(np.float32))
        zero = g.constant(np.zeros(4, np.int8))
        weight = g.op("DequantizeLinear", stored, scale, zero, axis=axis)
    else:
        weight = g.op("DequantizeLinear", stored, g.constant(np.array(0.01, np.float32)),
                      g.constant(np.array(0, np.int8)))
    if x.rank == 2:
        return g.op("MatMul", x, weight)
    y = g.op("Conv", x, weight)
    return o.batch_normalization(g, y, 4) if g.chance(0.5) else y
