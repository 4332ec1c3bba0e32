"""Blocks of transformers, on [N, S, E] or [N, E] with a known E."""

import math

import numpy as np

import operators as o
from blocks import block, is_float32, is_matrix, is_sequence, require


def linear(g, x, columns, bias=None):
    width = x.dim(x.rank - 1)
    y = g.op("MatMul", x, g.weight(width, columns, scale=width ** -0.5))
    if g.chance(0.7) if bias is None else bias:
        y = o.binary(g, "Add", y, g.weight(columns, scale=0.5))
    return y


def power(g, x, exponent):
    return g.op("Pow", x, g.scalar(exponent, x))


@block(lambda x: is_sequence(x) or is_matrix(x), 3)
def dense(g, x):
    y = linear(g, x, g.pick(2, 4, 6, 8))
    if g.chance(0.3):
        y = linear(g, y, g.pick(2, 3))
    return y if g.chance(0.5) else g.op(g.pick("Relu", "Tanh", "Sigmoid"), y)


@block(lambda x: is_sequence(x) or is_matrix(x), 2)
def scaled_products(g, x):
    """Scales and shifts before and behind products with weights."""
    width = x.dim(x.rank - 1)
    if g.chance(0.5):
        x = o.binary(g, g.pick("Mul", "Add"), x, g.weight(*g.pick([], [width], [1, width])))
    y = g.op("MatMul", x, g.weight(width, g.pick(width, 4), scale=0.5))
    for _ in range(g.random.randint(1, 2)):
        columns = y.dim(y.rank - 1)
        y = o.binary(g, g.pick("Mul", "Add"), y, g.weight(*g.pick([], [columns], [1, columns])))
    return y


@block(lambda x: is_sequence(x) or is_matrix(x), 2)
def sums_of_products(g, x):
    """x A + x B, x A + y A and x A + y B."""
    width = x.dim(x.rank - 1)
    a, b = g.weight(width, 4, scale=0.5), g.weight(width, 4, scale=0.5)
    y = g.op(g.pick("Relu", "Tanh", "Neg"), x)
    left, right = g.pick(((x, a), (x, b)), ((x, a), (y, a)), ((x, a), (y, b)))
    return o.binary(g, "Add", g.op("MatMul", *left), g.op("MatMul", *right))


@block(lambda x: is_sequence(x) or is_matrix(x), 2)
def sibling_products(g, x):
    """Products of one input that can be merged."""
    parts = [linear(g, x, g.pick(4, 4, 3), bias=g.chance(0.5)) for _ in range(g.pick(2, 3))]
    parts = [g.op("Sigmoid", part) if g.chance(0.3) else part for part in parts]
    if g.chance(0.4):
        return g.op("Concat", *parts, axis=-1)
    if all(part.dim(part.rank - 1) == 4 for part in parts):
        y = parts[0]
        for part in parts[1:]:
            y = g.op(g.pick("Add", "Mul", "Sub"), y, part)
        return y
    return parts


@block(is_matrix, 3)
def gemm(g, x):
    width = x.dim(1)
    columns = g.pick(3, 4)
    attributes = {}
    if g.chance(0.3):
        attributes["alpha"] = g.pick(0.5, 2.0)
    if g.chance(0.3):
        attributes["beta"] = g.pick(0.5, 2.0)
    trans_b = g.pick(0, 1)
    weight = g.weight(columns, width) if trans_b else g.weight(width, columns)
    bias = g.weight(*g.pick([columns], [1, columns], [1], [])) if g.chance(0.7) else None
    if g.chance(0.2):
        x, attributes["transA"] = g.op("Transpose", x, perm=[1, 0]), 1
    if g.chance(0.2):
        weight, trans_b = g.op("Transpose", weight, perm=[1, 0]), 1 - trans_b
    if trans_b:
        attributes["transB"] = 1
    siblings = [o.gemm(g, x, weight, bias, **attributes)]
    if g.chance(0.3):
        other = g.weight(*weight.arrays[0].shape)
        siblings.append(o.gemm(g, x, other, bias, **attributes))
    y = siblings[0]
    if g.chance(0.5):
        y = o.binary(g, g.pick("Mul", "Add"), y, g.weight(*g.pick([], [columns], [1, columns])))
    elif g.chance(0.3):
        y = o.batch_normalization(g, y, columns)
    return [y, *siblings[1:]]


@block(is_float32, 3)
def layer_norm(g, x):
    axis = -1 if g.chance(0.85) else x.rank - 2
    require(x.rank >= 2 and x.dim(axis))
    width = x.dim(axis)
    form = g.pick("mul", "pow", "reciprocal", "operator", "sum")
    axes = [axis] if g.chance(0.7) else [axis % x.rank]
    epsilon = g.pick(1e-5, 1e-12, 1e-3)
    if form == "operator" and g.opset >= 17:
        return g.op("LayerNormalization", x, g.weight(width), g.weight(width), axis=-1,
                    epsilon=epsilon)
    mean = o.reduce(g, "ReduceMean", x, axes)
    centred = g.op("Sub", x, mean)
    square_of = centred if g.chance(0.7) else g.op("Sub", x, mean)
    square = power(g, square_of, 2) if form == "pow" else g.op("Mul", square_of, square_of)
    variance = o.reduce(g, "ReduceMean", square, axes)
    deviation = g.op("Sqrt", o.binary(g, "Add", variance, g.scalar(epsilon, x)))
    if form == "reciprocal":
        y = o.binary(g, "Mul", centred, g.op("Reciprocal", deviation))
    else:
        y = g.op("Div", centred, deviation)
    if g.chance(0.7):
        y = o.binary(g, "Mul", y, g.weight(x.dim(x.rank - 1) or 1))
    if g.chance(0.6):
        y = o.binary(g, "Add", y, g.weight(x.dim(x.rank - 1) or 1))
    return y


@block(is_float32, 2)
def gelu(g, x):
    """Spellings of exporters: factors in any bracketing, constants close to the right ones."""
    half = g.scalar(0.5 if g.chance(0.9) else 0.4, x)
    one = g.scalar(1.0, x)
    if g.opset >= 20 and g.chance(0.2):
        return g.op("Gelu", x, approximate=g.pick("none", "tanh"))
    if g.chance(0.5):
        g.need(9)
        root = g.op("Div", x, g.scalar(math.sqrt(2), x)) if g.chance(0.5) else o.binary(
            g, "Mul", x, g.scalar(math.sqrt(0.5), x))
        inner = o.binary(g, "Add", g.op("Erf", root), one)
    else:
        cube = power(g, x, 3) if g.chance(0.5) else g.op("Mul", g.op("Mul", x, x), x)
        scaled = o.binary(g, "Mul", cube, g.scalar(0.044715, x))
        if g.chance(0.2):
            scaled = g.op("Mul", g.op("Mul", o.binary(g, "Mul", x, g.scalar(0.044715, x)), x), x)
        argument = o.binary(g, "Mul", o.binary(g, "Add", x, scaled),
                            g.scalar(math.sqrt(2 / math.pi), x))
        inner = o.binary(g, "Add", g.op("Tanh", argument), one)
    form = g.random.randint(0, 2)
    if form == 0:
        return o.binary(g, "Mul", o.binary(g, "Mul", x, inner), half)
    if form == 1:
        return o.binary(g, "Mul", o.binary(g, "Mul", x, half), inner)
    return o.binary(g, "Mul", x, o.binary(g, "Mul", inner, half))


@block(is_float32, 1.5)
def hard_swish(g, x):
    three, six = g.scalar(3.0, x), 6 if g.chance(0.9) else 5
    inner = o.clip(g, o.binary(g, "Add", x, three), 0, six)
    form = g.random.randint(0, 3)
    if form == 0:
        return o.binary(g, "Mul", x, g.op("Div", inner, g.scalar(6.0, x)))
    if form == 1:
        return g.op("Div", o.binary(g, "Mul", x, inner), g.scalar(6.0, x))
    if form == 2:
        return o.binary(g, "Mul", inner, g.scalar(1 / 6, x))
    return o.binary(g, "Mul", x, o.binary(g, "Mul", inner, g.scalar(1 / 6, x)))


@block(is_float32, 1.5)
def softmax(g, x):
    axis = g.random.randint(-x.rank, x.rank - 1)
    if g.chance(0.3):
        x = o.binary(g, "Add", x, g.scalar(g.pick(0.5, -3.4e38, -1e4, 100.0), x))
    kind = g.pick("Softmax", "Softmax", "LogSoftmax")
    return g.op(kind, x, axis=axis)


def heads_of(g, x, heads):
    """[N, S, E] to [N, H, S, E / H], in one of the ways in which exporters reshape."""
    width = x.dim(2)
    form = g.random.randint(0, 3)
    if form == 0:
        y = o.reshape(g, x, [0, 0, heads, width // heads])
    elif form == 1:
        y = o.reshape_by_parts(g, x, [o.size_of(g, x, 0), o.size_of(g, x, 1), heads,
                                      width // heads])
    elif form == 2:
        y = o.reshape_by_parts(g, x, [o.size_of(g, x, 0), -1, heads, width // heads])
    else:
        y = o.reshape_by_parts(g, x, [-1, o.size_of(g, x, 1), heads, width // heads])
    return g.op("Transpose", y, perm=[0, 2, 1, 3])


def merged_heads(g, context, x):
    y = g.op("Transpose", context, perm=[0, 2, 1, 3])
    form = g.random.randint(0, 2)
    if form == 0:
        return o.reshape(g, y, [0, 0, x.dim(2)])
    if form == 1:
        return o.reshape_by_parts(g, y, [o.size_of(g, x, 0), o.size_of(g, x, 1), x.dim(2)])
    return o.reshape_by_parts(g, y, [o.size_of(g, x, 0), -1, x.dim(2)])


def sequence_dims(g, x):
    """Symbols of [N, S] of x; None where a dim is none of a symbol."""
    found = []
    for axis in (0, 1):
        sizes = [array.shape[axis] for array in x.arrays]
        names = [name for name, held in g.symbols.items() if held == sizes]
        found.append(names[0] if names else x.dim(axis))
    require(all(found))
    return found


def masked(g, scores, x):
    """Adds a mask to the scores: a float input, one made of a bool input, or a Where."""
    batch, length = sequence_dims(g, x)
    kind = g.pick("float", "float", "bool", "where", "integer", "causal")
    if kind == "float":
        shape = g.pick([batch, 1, 1, length], [batch, 1, length, length], [1, 1, length, length],
                       [length, length])
        mask = g.input("mask", np.float32, shape, "mask", make=lambda s: np.zeros(s))
        return o.binary(g, "Add", scores, mask)
    if kind == "causal":
        g.need(14)
        size = o.size_of(g, x, 1)
        ones = g.op("Expand", g.constant(np.ones((1, 1), np.float32)),
                    g.op("Concat", size, size, axis=0))
        keep = g.op("Cast", g.op("Trilu", ones, upper=0), to=9)
        return g.op("Where", keep, scores, g.scalar(g.pick(-np.inf, -3.4028235e38), scores))
    ones = lambda s: np.ones(s)
    if kind == "integer":
        mask = g.input("mask", np.int64, [batch, length], "bit", make=ones)
        mask = o.unsqueeze(g, g.op("Cast", mask, to=1), [1, 2])
        inverse = g.op("Sub", g.scalar(1.0, scores), mask)
        low = g.scalar(g.pick(-10000.0, -3.4028235e38), scores)
        return o.binary(g, "Add", scores, o.binary(g, "Mul", inverse, low))
    mask = g.input("mask", np.bool_, [batch, length], "bool", make=ones)
    mask = o.unsqueeze(g, mask, [1, 2])
    g.need(9)
    low = g.scalar(g.pick(-np.inf, -3.4028235e38, -1e9), scores)
    if kind == "where":
        return g.op("Where", mask, scores, low)
    return g.op("Where", g.op("Not", mask), low, scores)


def guarded(g, weights):
    """Where(IsNaN(softmax), 0, softmax)."""
    g.need(9)
    return g.op("Where", g.op("IsNaN", weights), g.scalar(0.0, weights), weights)


@block(is_sequence, 4)
def attention(g, x):
    width = x.dim(2)
    heads = g.pick(1, 2, 4)
    require(width % heads == 0 and all(a.shape[1] <= 40 for a in x.arrays))
    if g.chance(0.7):
        query, key, value = (linear(g, x, width) for _ in range(3))
    else:
        joined = linear(g, x, 3 * width)
        query, key, value = o.split(g, joined, [width] * 3, g.pick(2, -1))
    query, key, value = (heads_of(g, part, heads) for part in (query, key, value))
    scale = 1 / math.sqrt(width // heads)
    form = g.random.randint(0, 3)
    if form == 0:
        query = o.binary(g, "Mul", query, g.scalar(scale, query))
    key = g.op("Transpose", key, perm=[0, 1, 3, 2])
    if form == 1:
        root = g.scalar(math.sqrt(scale), key)
        query, key = o.binary(g, "Mul", query, root), o.binary(g, "Mul", key, root)
    scores = g.op("MatMul", query, key)
    if form == 2:
        scores = o.binary(g, "Mul", scores, g.scalar(scale, scores))
    elif form == 3:
        scores = g.op("Div", scores, g.scalar(1 / scale, scores))
    if g.chance(0.7):
        scores = masked(g, scores, x)
    weights = g.op("Softmax", scores, axis=g.pick(-1, 3) if g.opset >= 13 else 3)
    if g.chance(0.35):
        weights = guarded(g, weights)
    y = merged_heads(g, g.op("MatMul", weights, value), x)
    if g.chance(0.7):
        y = linear(g, y, width)
    return o.binary(g, "Add", x, y) if g.chance(0.6) else y


@block(is_float32, 1)
def guarded_softmax(g, x):
    """A guard behind a Softmax whose rows may be all -inf: a mask input of the shape of x."""
    require(all(x.dim(axis) for axis in range(1, x.rank)))
    sizes = [array.shape[0] for array in x.arrays]
    names = [name for name, held in g.symbols.items() if held == sizes]
    require(names or x.dim(0))
    dims = [names[0] if names else x.dim(0)] + [x.dim(axis) for axis in range(1, x.rank)]
    mask = g.input("mask", np.float32, dims, "mask", make=lambda s: np.zeros(s))
    y = o.binary(g, "Add", x, mask) if g.chance(0.8) else mask
    return guarded(g, g.op("Softmax", y, axis=x.rank - 1))


@block(is_sequence, 2)
def pooled(g, x):
    """The first token, the last one, or their mean."""
    form = g.random.randint(0, 4)
    if form == 0:
        return g.op("Gather", x, g.constant(np.array(g.pick(0, -1), np.int64)), axis=1)
    if form == 1:
        return o.squeeze(g, o.slice_(g, x, [0], [1], [1]), [1])
    if form == 2:
        return o.reduce(g, "ReduceMean", x, [1], keepdims=0)
    if form == 3:
        return o.reshape(g, o.slice_(g, x, [0], [1], [1]), [-1, x.dim(2)])
    return g.op("Gather", x, g.ints(0), axis=1)


@block(is_sequence, 2)
def rows_joined(g, x):
    """A linear layer on [N S, E], or on the transposed sequence, and the way back."""
    width = x.dim(2)
    if g.chance(0.4):
        x = g.op("Transpose", x, perm=[1, 0, 2])
    y = o.reshape(g, x, [-1, width])
    if g.chance(0.7):
        y = linear(g, y, g.pick(width, 4))
    if g.chance(0.3):
        return y
    return o.reshape_by_parts(
        g, y, [o.size_of(g, x, 0), o.size_of(g, x, 1), g.pick(-1, y.dim(1))])


@block(is_sequence, 1.5)
def transposed_product(g, x):
    """Products of transposed operands and a product of the input with itself."""
    swapped = g.op("Transpose", x, perm=[0, 2, 1])
    form = g.random.randint(0, 3)
    if form == 0:
        return g.op("MatMul", swapped, x)
    if form == 1:
        return g.op("Transpose", g.op("MatMul", swapped, x), perm=[0, 2, 1])
    if form == 2:
        y = g.op("MatMul", x, g.weight(x.dim(2), 4))
        return g.op("Transpose", y, perm=[0, 2, 1])
    weight = g.op("Transpose", g.weight(4, x.dim(2)), perm=[1, 0])
    return g.op("MatMul", x, weight)


@block(is_matrix, 1)
def transposed_matrix(g, x):
    rows = g.op("Relu", x)
    form = g.random.randint(0, 3)
    if form == 0:
        return g.op("MatMul", x, g.op("Transpose", rows, perm=[1, 0]))
    if form == 1:
        return g.op("Transpose", g.op("MatMul", x, g.op("Transpose", rows, perm=[1, 0])),
                    perm=[1, 0])
    both = (g.op("Transpose", v, perm=[1, 0]) for v in (x, g.weight(4, x.dim(1))))
    y = g.op("MatMul", *reversed(list(both))) if form == 2 else None
    return g.op("Transpose", y, perm=[1, 0]) if y else g.op("Gemm", x, rows, g.scalar(0.0, x),
                                                           transB=1)


@block(is_sequence, 1)
def position_table(g, x):
    """Adds rows of a table, cut to the length of x."""
    longest = max(a.shape[1] for a in x.arrays)
    require(longest <= 512)
    table = g.weight(1, 512, x.dim(2))
    size = o.size_of(g, x, 1)
    g.need(10)
    rows = g.op("Slice", table, g.ints(0), size, g.ints(1))
    return o.binary(g, "Add", x, rows)


@block(is_sequence, 0.6)
def recurrent(g, x):
    """[N, S, E] through a recurrent layer, which rewrites do not know."""
    kind = g.pick("LSTM", "GRU", "RNN")
    gates, hidden = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 3
    y = g.op("Transpose", x, perm=[1, 0, 2])
    y = g.op(kind, y, g.weight(1, gates * hidden, x.dim(2), scale=0.4),
             g.weight(1, gates * hidden, hidden, scale=0.4), hidden_size=hidden)
    y = o.squeeze(g, y, [1])
    return g.op("Transpose", y, perm=[1, 0, 2])


@block(is_sequence, 1)
def conv_1d(g, x):
    y = g.op("Transpose", x, perm=[0, 2, 1])
    channels = x.dim(2)
    weight = g.weight(4, channels, 3, scale=0.4)
    y = g.op("Conv", y, weight, pads=[1, 1], kernel_shape=[3])
    if g.chance(0.6):
        y = o.batch_normalization(g, y, 4)
    return g.op("Transpose", g.op("Relu", y), perm=[0, 2, 1])
