"""Blocks that move, choose and collect elements, and those of integers."""

import numpy as np

import operators as o
from blocks import (block, is_float, is_float32, is_integer, is_matrix, is_sequence, is_tensor,
                    require)
from graph import ELEMENT_TYPES


@block(is_tensor, 2)
def transposes(g, x):
    require(x.rank >= 2)
    perm = list(range(x.rank))
    g.random.shuffle(perm)
    y = g.op("Transpose", x, perm=perm)
    if x.is_float and g.chance(0.5):
        y = g.op(g.pick("Relu", "Sigmoid", "Neg"), y)
    if g.chance(0.6):
        back = [perm.index(axis) for axis in range(x.rank)]
        if g.chance(0.2):
            g.random.shuffle(back)
        y = g.op("Transpose", y, perm=back)
    return y


@block(is_float, 1.5)
def transposed_pair(g, x):
    """Two values under one permutation, combined, and perhaps turned back."""
    require(x.rank >= 2)
    perm = list(range(x.rank))
    g.random.shuffle(perm)
    y = g.op("Relu", x)
    kind = g.pick("Add", "Mul", "Sub", "constant")
    if kind == "constant":
        a = g.op("Transpose", x, perm=perm)
        z = o.binary(g, g.pick("Add", "Mul"), a, g.constant(
            g.numpy.standard_normal([a.dim(i) or 1 for i in range(a.rank)]).astype(x.dtype)))
    else:
        z = g.op(kind, g.op("Transpose", x, perm=perm), g.op("Transpose", y, perm=perm))
    if g.chance(0.5):
        z = g.op("Transpose", z, perm=[perm.index(axis) for axis in range(x.rank)])
    return z


@block(is_tensor, 2.5)
def views(g, x):
    kind = g.random.randint(0, 6)
    if kind == 0:
        axis = g.random.randint(0, x.rank)
        y = o.unsqueeze(g, x, [axis])
        if x.is_float and g.chance(0.3):
            y = g.op("Relu", y)
        return o.squeeze(g, y, [axis]) if g.chance(0.5) else y
    if kind == 1:
        ones = [axis for axis in range(x.rank) if x.dim(axis) == 1]
        require(ones)
        return o.squeeze(g, x, [g.random.choice(ones)])
    if kind == 2:
        return g.op("Flatten", x, axis=g.random.randint(0, x.rank)) if x.is_float or g.opset >= 9 \
            else x
    if kind == 3:
        y = o.reshape(g, x, g.pick([-1], [1, -1], [-1, 1], [0, -1]))
        return y
    if kind == 4:
        shape = g.op("Shape", x)
        y = g.op("Reshape", x, g.ints(-1))
        y = g.op("Relu", y) if x.is_float else y
        return g.op("Reshape", y, shape)
    if kind == 5:
        last = x.dim(x.rank - 1)
        require(last and last % 2 == 0)
        y = o.reshape(g, x, [*[0] * (x.rank - 1), 2, last // 2])
        y = g.op("Transpose", y, perm=[*range(x.rank - 1), x.rank, x.rank - 1]) \
            if g.chance(0.6) else y
        return o.reshape(g, y, [*[0] * (x.rank - 1), -1])
    require(x.rank >= 2 and x.dim(x.rank - 1))
    joined = o.reshape(g, x, [-1, x.dim(x.rank - 1)])
    if x.is_float:
        joined = o.binary(g, g.pick("Add", "Mul"), joined, g.constant(
            g.numpy.standard_normal(g.pick([], [x.dim(x.rank - 1)])).astype(x.dtype)))
    return joined


@block(is_tensor, 2.5)
def slices(g, x):
    axis = g.random.randint(0, x.rank - 1)
    size = min(array.shape[axis] for array in x.arrays)
    kind = g.random.randint(0, 5)
    shown = axis if g.chance(0.7) else axis - x.rank
    if g.opset < 10 and shown < 0:
        shown = axis
    if kind == 0:
        require(size >= 2)
        start = g.random.randint(0, size - 1)
        y = o.slice_(g, x, [start], [g.random.randint(start + 1, size)], [shown])
    elif kind == 1:
        y = o.slice_(g, x, [0], [g.pick(2 ** 63 - 1, 2 ** 31 - 1)], [shown])
    elif kind == 2:
        y = o.slice_(g, x, [0], [2 ** 31 - 1], [shown], [g.pick(2, 3)])
    elif kind == 3:
        y = o.slice_(g, x, [-1], [-2 ** 31], [shown], [-1])
    elif kind == 4:
        require(size >= 2)
        y = o.slice_(g, x, [g.pick(1, -1, -2)], [2 ** 31 - 1], [shown])
    else:
        require(size >= 3)
        y = o.slice_(g, o.slice_(g, x, [1], [2 ** 31 - 1], [axis]), [0], [size - 2], [axis])
    if x.is_float and g.chance(0.4):
        y = g.op(g.pick("Relu", "Sigmoid"), y)
    return y


@block(is_float, 1.5)
def slices_of_sums(g, x):
    """Slices behind what can be sliced before, some that together are the whole."""
    axis = g.random.randint(0, x.rank - 1)
    require(x.dim(axis) and x.dim(axis) >= 2)
    size = x.dim(axis)
    cut = g.random.randint(1, size - 1)
    shape = [x.dim(a) or 1 for a in range(x.rank)]
    for _ in range(g.random.randint(0, 2)):
        x = o.binary(g, g.pick("Add", "Mul"), x, g.constant(
            g.numpy.standard_normal(shape).astype(x.dtype)))
    if g.chance(0.5):
        x = g.op("Relu", x)
    first, second = (o.slice_(g, x, [a], [b], [axis]) for a, b in ((0, cut), (cut, size)))
    if g.chance(0.5):
        first, second = (g.op(g.pick("Relu", "Tanh"), part) for part in (first, second))
    if g.chance(0.7):
        parts = [first, second] if g.chance(0.8) else [second, first]
        return g.op("Concat", *parts, axis=axis)
    return [first, second]


@block(is_float, 2)
def concats(g, x):
    axis = g.random.randint(0, x.rank - 1)
    y = g.op(g.pick("Relu", "Tanh", "Neg"), x)
    z = g.op(g.pick("Relu", "Tanh", "Neg"), x)
    kind = g.random.randint(0, 4)
    if kind == 0:
        joined = g.op("Concat", g.op("Concat", x, y, axis=axis), z, axis=axis)
    elif kind == 1:
        joined = g.op("Concat", g.op("Relu", x), g.op("Relu", y), axis=axis)
    elif kind == 2:
        parts = [g.op("Add", part, g.constant(np.array(g.random.random(), x.dtype)))
                 for part in (x, y)]
        joined = g.op("Concat", *parts, axis=axis)
    elif kind == 3:
        shapes = [x.dim(a) for a in range(x.rank)]
        require(all(size for a, size in enumerate(shapes) if a != axis))
        shapes[axis] = 1
        extra = g.constant(g.numpy.standard_normal(shapes).astype(x.dtype))
        joined = g.op("Concat", extra, x, axis=axis)
    else:
        joined = g.op("Concat", x, x, axis=axis)
    if g.chance(0.3):
        joined = o.binary(g, "Mul", joined, g.constant(np.array(0.5, x.dtype)))
    return joined


@block(is_float32, 2)
def reductions(g, x):
    kind = g.pick("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                  "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp")
    axes = sorted(g.random.sample(range(x.rank), g.random.randint(1, min(2, x.rank))))
    if g.chance(0.3):
        axes = [axis - x.rank for axis in axes] if g.opset >= 11 else axes
    y = o.reduce(g, kind, x, axes if g.chance(0.9) else None, g.pick(0, 1, 1))
    return g.op("Sub", x, y) if y.rank == x.rank and g.chance(0.4) else y


@block(is_float32, 2)
def scores(g, x):
    """ArgMax, TopK and what hangs on their indices."""
    axis = x.rank - 1 if g.chance(0.7) else g.random.randint(0, x.rank - 1)
    size = min(array.shape[axis] for array in x.arrays)
    if g.chance(0.4):
        x = g.op("Softmax", x, axis=axis)
    kind = g.random.randint(0, 3)
    if kind == 0:
        return g.op(g.pick("ArgMax", "ArgMin"), x, axis=axis, keepdims=g.pick(0, 1))
    if kind == 1:
        return o.top_k(g, x, min(size, g.pick(1, 2, 3)), axis)
    if kind == 2:
        require(x.dim(axis))
        best = g.op("ArgMax", x, axis=axis, keepdims=0)
        return g.op("Gather", g.weight(x.dim(axis), 3), best, axis=0)
    g.need(11)
    values, indices = o.top_k(g, x, min(size, 2), axis)
    gathered = g.op("GatherElements", x, indices, axis=axis)
    return o.binary(g, "Add", values, gathered)


@block(is_tensor, 1.5)
def gathers(g, x):
    axis = g.random.randint(0, x.rank - 1)
    size = min(array.shape[axis] for array in x.arrays)
    kind = g.random.randint(0, 3)
    if kind == 0:
        index = g.constant(np.array(g.random.randint(-size, size - 1), np.int64))
    elif kind == 1:
        start = g.random.randint(0, size - 1)
        index = g.ints(*range(start, size))
    elif kind == 2:
        index = g.constant(g.numpy.integers(0, size, g.pick([2], [1], [2, 2])))
    else:
        index = g.input("index", np.int64, g.pick([2], []), "index", limit=size,
                        make=lambda s: g.numpy.integers(0, size, s))
    return g.op("Gather", x, index, axis=axis)


@block(is_tensor, 1.5)
def repeats(g, x):
    kind = g.random.randint(0, 5)
    if kind == 0:
        g.need(8)
        y = g.op("Expand", x, g.ints(*[g.pick(1, 1, 2) if x.dim(a) == 1 else 1
                                       for a in range(x.rank)]))
    elif kind == 1:
        y = g.op("Tile", x, g.ints(*[g.pick(1, 1, 2) for _ in range(x.rank)]))
    elif kind == 2:
        g.need(8)
        y = g.op("Expand", x, g.ints(g.pick(1, 2), *[1] * x.rank))
    elif kind == 3:
        g.need(8)
        y = g.op("Expand", x, g.op("Shape", x))
    elif kind == 4:
        g.need(8)
        wide = g.op("Expand", x, g.ints(2, *[1] * x.rank))
        y = g.op("Expand", wide, g.ints(g.pick(1, 3), 2, *[1] * x.rank))
    else:
        g.need(8)
        require(x.is_float)
        row = o.reduce(g, "ReduceSum", x, [x.rank - 1])
        wide = g.op("Expand", row, g.op("Shape", x))
        y = o.binary(g, g.pick("Add", "Mul"), wide, x)
    return y


@block(is_float32, 1)
def pads(g, x):
    mode = g.pick("constant", "constant", "edge", "reflect", "wrap")
    sizes = [min(array.shape[axis] for array in x.arrays) for axis in range(x.rank)]
    amounts = [g.pick(0, 0, 1, 2 if size > 2 else 0) for size in sizes * 2]
    if mode in ("reflect", "wrap"):
        amounts = [n if size > 2 else 0 for n, size in zip(amounts, sizes * 2)]
        g.need(19 if mode == "wrap" else 7)
    value = g.pick(None, 0.0, 2.0, -np.inf) if mode == "constant" else None
    return o.pad(g, x, amounts, mode, value)


@block(is_float32, 1.5)
def scattered(g, x):
    kind = g.random.randint(0, 3)
    if kind == 0:
        g.need(11)
        axis = g.constant(np.array(g.random.randint(0, x.rank - 1), g.pick(np.int64, np.int32)))
        return g.op("CumSum", x, axis, exclusive=g.pick(0, 1), reverse=g.pick(0, 1))
    if kind == 1:
        g.need(11)
        require(all(a.shape[0] > 0 for a in x.arrays) and all(x.dim(i) for i in range(1, x.rank)))
        row = g.weight(1, *[x.dim(i) for i in range(1, x.rank)])
        return g.op("ScatterND", x, g.constant(np.zeros((1, 1), np.int64)), row)
    if kind == 2:
        g.need(12)
        letters = "abcde"[:x.rank]
        require(x.rank >= 2)
        swapped = letters[::-1]
        return g.op("Einsum", x, equation=f"{letters}->{swapped}")
    g.need(14)
    require(x.rank >= 2)
    return g.op("Trilu", x, upper=g.pick(0, 1))


@block(is_integer, 4)
def integer_chain(g, x):
    """Division towards zero, Mod of both signs, sums and products that wrap."""
    for _ in range(g.random.randint(1, 4)):
        kind = g.pick("Add", "Mul", "Sub", "Div", "Mod", "Mod", "Neg", "Abs", "Max", "Min", "Clip")
        number = g.constant(np.full(g.pick([], [1]), g.pick(1, 2, 3, 5, 7, 100), x.dtype))
        if kind == "Mod":
            g.need(10)
            x = g.op("Mod", x, number)
        elif kind in ("Div", "Sub"):
            x = g.op(kind, x, number)
        elif kind in ("Neg", "Abs"):
            x = g.op(kind, x)
        elif kind == "Clip":
            g.need(12)
            x = o.clip(g, x, 1, 50)
        else:
            x = o.binary(g, kind, x, number)
    return x


@block(is_integer, 3)
def integer_casts(g, x):
    """Casts that wrap or keep, and integers that are compared."""
    kind = g.random.randint(0, 3)
    if kind == 0:
        return g.op("Cast", x, to=g.pick(2, 3, 6, 7, 9))
    if kind == 1:
        y = g.op("Cast", x, to=g.pick(6, 7, 3, 5))
        return g.op("Cast", y, to=ELEMENT_TYPES[x.dtype])
    if kind == 2:
        return g.op("Cast", x, to=1)
    return g.op("Equal", x, g.constant(np.array(g.pick(0, 1, 2), x.dtype)))


@block(is_integer, 1)
def embedding(g, x):
    """Rows of a table behind indices that are brought into range."""
    require(x.dtype.itemsize >= 4 and x.dtype.kind == "i" and x.rank <= 2)
    g.need(10)
    rows = 7
    index = g.op("Mod", x, g.constant(np.array(rows, x.dtype)))
    return g.op("Gather", g.weight(rows, g.pick(4, 6)), index, axis=0)


@block(lambda x: is_sequence(x) or is_matrix(x), 0.7)
def shape_arithmetic(g, x):
    """Sizes that are divided, multiplied and cast before they are used."""
    size = o.size_of(g, x, 0)
    columns = x.dim(x.rank - 1)
    doubled = g.op("Div", g.op("Mul", size, g.ints(2)), g.ints(2))
    as_float = g.op("Cast", g.op("Cast", doubled, to=1), to=7)
    y = o.reshape_by_parts(g, x, [as_float if g.chance(0.6) else doubled, -1, columns])
    if g.chance(0.4):
        factor = o.binary(g, "Mul", y, g.op("Cast", size, to=1))
        return factor
    return y


@block(is_float, 0.8)
def ranges(g, x):
    """Position indices as float features: Range, ConstantOfShape or NonZero."""
    g.need(11)
    size = o.squeeze(g, o.size_of(g, x, 0), [0])
    positions = g.op("Range", g.constant(np.array(0, np.int64)), size,
                     g.constant(np.array(1, np.int64)))
    if g.chance(0.4):
        return positions
    column = o.unsqueeze(g, g.op("Cast", positions, to=ELEMENT_TYPES[x.dtype]),
                         list(range(1, x.rank))) if x.rank > 1 else g.op(
                             "Cast", positions, to=ELEMENT_TYPES[x.dtype])
    return o.binary(g, "Add", x, column)
