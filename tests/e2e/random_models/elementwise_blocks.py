"""Element-wise chains with constants, and casts, on floats of any shape."""

import numpy as np
from onnx import helper

import operators as o
from blocks import block, is_bool, is_float, is_float32, is_tensor, require
from graph import ELEMENT_TYPES

SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.5, 6.0, 1 / 6, 1e-3, 1e3, 1e4, -1e4)


def operand_shape(g, x):
    """A shape that broadcasts against x without enlarging it: some of its known dims, ones
    elsewhere, with or without the leading ones."""
    form = g.random.random()
    if form < 0.3:
        return []
    if form < 0.4:
        return [1] * g.random.randint(1, x.rank)
    dims = [x.dim(axis) if x.dim(axis) and g.chance(0.7) else 1 for axis in range(x.rank)]
    if g.chance(0.6):
        while len(dims) > 1 and dims[0] == 1:
            dims.pop(0)
    elif g.chance(0.1):
        dims.insert(0, 1)
    return dims


def operand(g, x, positive=False):
    """A constant to combine x with: one number throughout, or a random one per element."""
    shape = operand_shape(g, x)
    if g.chance(0.5):
        array = np.full(shape, g.random.choice(SPECIAL))
    else:
        array = g.numpy.standard_normal(shape)
    if positive:
        array = np.where(np.abs(array) < 0.1, 0.5, np.abs(array))
    return g.constant(np.asarray(array).astype(x.dtype))


@block(is_float, 5)
def constant_chain(g, x):
    for _ in range(g.random.randint(1, 5)):
        kind = g.pick("Add", "Add", "Mul", "Mul", "Sub", "Div", "RSub", "RDiv")
        if kind in ("Add", "Mul"):
            x = o.binary(g, kind, x, operand(g, x))
        elif kind == "Sub":
            x = g.op("Sub", x, operand(g, x))
        elif kind == "Div":
            x = g.op("Div", x, operand(g, x, positive=True))
        elif kind == "RSub":
            x = g.op("Sub", operand(g, x), x)
        else:
            safe = o.binary(g, "Add", g.op("Abs", x), g.scalar(0.5, x))
            x = g.op("Div", operand(g, x), safe)
    return x


@block(is_float, 2)
def neutral(g, x):
    """Nodes that change nothing, or nothing unless a shape changes."""
    kind = g.random.randint(0, 12)
    one = g.constant(np.ones(operand_shape(g, x), x.dtype))
    zero = g.constant(np.zeros(operand_shape(g, x), x.dtype))
    if kind == 0:
        return o.binary(g, "Add", x, zero)
    if kind == 1:
        return o.binary(g, "Mul", x, one)
    if kind == 2:
        return g.op("Sub", x, zero)
    if kind == 3:
        return g.op("Div", x, one)
    if kind == 4:
        return g.op("Pow", x, one)
    if kind == 5:
        return g.op("Identity", x)
    if kind == 6:
        return g.op("Dropout", x)
    if kind == 7:
        return g.op("Neg", g.op("Neg", x))
    if kind == 8:
        return g.op("Concat", x, axis=x.rank - 1)
    if kind == 9:
        return o.pad(g, x, [0] * 2 * x.rank)
    if kind == 10:
        return g.op("Cast", x, to=ELEMENT_TYPES[x.dtype])
    if kind == 11:
        return g.op("Tile", x, g.ints(*[1] * x.rank))
    return g.op("Transpose", x, perm=list(range(x.rank)))


@block(is_float, 2)
def algebra(g, x):
    """Negations, reciprocals, factors and powers that rewrites know another form of."""
    y = g.op(g.pick("Relu", "Tanh", "Sigmoid"), x)
    kind = g.random.randint(0, 13)
    if kind == 0:
        return o.binary(g, "Add", x, g.op("Neg", y))
    if kind == 1:
        return g.op("Sub", x, g.op("Neg", y))
    if kind == 2:
        safe = o.binary(g, "Add", g.op("Abs", y), g.scalar(1.0, y))
        return o.binary(g, "Mul", x, g.op("Reciprocal", safe))
    if kind == 3:
        factor = operand(g, x)
        return o.binary(g, "Add", g.op("Mul", x, factor), g.op("Mul", y, factor))
    if kind == 4:
        left, right = g.op("Add", x, operand(g, x)), g.op("Add", y, operand(g, x))
        return o.binary(g, "Add", left, right)
    if kind == 5:
        return o.binary(g, "Mul", o.binary(g, "Mul", x, operand(g, x)), y)
    if kind == 6:
        positive = o.binary(g, "Add", g.op("Abs", x), g.scalar(0.3, x))
        return g.op("Pow", positive, g.scalar(g.pick(2, 3, 0.5, -0.5, -1, 1, 1.5), x))
    if kind == 7:
        if g.chance(0.4):
            return o.binary(g, "Mul", x, g.op("Mul", x, x))
        return g.op("Pow", x, g.scalar(g.pick(2, 3, 1), x))
    if kind == 8:
        return g.op("Relu", g.op(g.pick("Sigmoid", "Exp", "Relu", "Abs", "Softplus"), y))
    if kind == 9:
        return g.op("Abs", g.op(g.pick("Sigmoid", "Sqrt", "Relu", "Exp"), g.op("Abs", y)))
    if kind == 10:
        g.need(8)
        return o.binary(g, g.pick("Max", "Min"), x, g.pick(x, g.scalar(0.0, x), operand(g, x)))
    if kind == 11:
        sums = o.reduce(g, "ReduceSum", g.op("Abs", y), [x.rank - 1])
        return g.op("Div", x, o.binary(g, "Add", sums, g.scalar(0.1, x)))
    safe = o.binary(g, "Add", g.op("Abs", y), g.scalar(1.0, y))
    if kind == 12:
        return g.op("Pow", safe, g.scalar(g.pick(-0.5, -1, 0.5), x))
    return g.op("Div", g.constant(np.ones(g.pick([], [1]), x.dtype)), safe)


@block(is_float, 2)
def clips(g, x):
    """Chains of Clip and Relu, bounds in any order, some of them crossed."""
    for _ in range(g.random.randint(1, 3)):
        if g.chance(0.3):
            x = g.op("Relu", x)
        else:
            bounds = g.pick((0, None), (None, 0), (0, 6), (-1, 1), (2, 5), (-3, -1), (None, 2),
                            (0.5, 0.5), (None, None), (0, 0))
            x = o.clip(g, x, *bounds) if bounds != (None, None) else g.op("Clip", x)
    return x


@block(is_float32, 1)
def rounding(g, x):
    """Tricks that round: nothing in them may be re-associated."""
    g.has_rounding_trick = True
    kind = g.random.randint(0, 4)
    if kind == 0:
        big = g.pick(12582912.0, 8388608.0, 1e6, 65536.0)
        up = o.binary(g, "Add", x, g.scalar(big, x))
        return g.op("Sub", up, g.scalar(big, x)) if g.chance(0.5) else o.binary(
            g, "Add", up, g.scalar(-big, x))
    if kind == 1:
        big = g.scalar(g.pick(1e30, 1e38, 1e-30, 1e-38), x)
        return g.op("Div", o.binary(g, "Mul", x, big), big)
    if kind == 2:
        g.need(11)
        step = g.pick(0.25, 0.5, 2.0)
        return o.binary(g, "Mul", g.op("Round", g.op("Div", x, g.scalar(step, x))),
                        g.scalar(step, x))
    if kind == 3:
        return g.op("Floor", o.binary(g, "Add", x, g.scalar(0.5, x)))
    return g.op("Cast", g.op("Cast", x, to=6), to=1)


@block(is_float, 1)
def far_magnitudes(g, x):
    """Columns of very different size side by side, as boxes beside scores."""
    require(x.dim(x.rank - 1))
    width = x.dim(x.rank - 1)
    scales = np.array([g.random.choice([1e-3, 1.0, 640.0, 1e4 if x.dtype.itemsize > 2 else 8.0])
                       for _ in range(width)], x.dtype)
    y = g.op("Mul", x, g.constant(scales))
    return o.binary(g, "Add", y, g.constant(scales)) if g.chance(0.5) else y


@block(is_float, 1.5)
def unary_chain(g, x):
    for _ in range(g.random.randint(1, 3)):
        kind = g.pick("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Log", "Sqrt", "Softsign",
                      "Erf", "Sin", "Cos", "Floor", "Ceil", "Sign", "Reciprocal", "HardSigmoid",
                      "Selu", "Softplus", "ThresholdedRelu", "Atan", "Mish", "Celu")
        if kind in ("Log", "Sqrt", "Reciprocal"):
            x = o.binary(g, "Add", g.op("Abs", x), g.scalar(0.2, x))
        if kind == "Exp":
            x = o.clip(g, x, -5, 5)
        x = g.op(kind, x)
    return x


@block(is_float32, 1.5)
def casts(g, x):
    """Casts there and back; what they lose stays lost."""
    kind = g.pick("float16", "float64", "bfloat16", "int32", "int64", "int8", "bool", "uint8",
                  "half chain", "double chain")
    names = {"float16": 10, "float64": 11, "int32": 6, "int64": 7, "int8": 3, "bool": 9,
             "uint8": 2}
    if kind in ("int8", "uint8", "int32", "int64"):
        x = o.clip(g, x, *((0, 200) if kind == "uint8" else (-100, 100)))
    if kind in ("float16", "half chain"):
        g.low_precision = True
        x = o.clip(g, x, -1000, 1000)
    if kind in names:
        y = g.op("Cast", x, to=names[kind])
        return g.op("Cast", y, to=1) if g.chance(0.7) else y
    if kind == "bfloat16":
        return through_bfloat16(g, x)
    if kind == "half chain":
        y = g.op("Cast", g.op("Cast", x, to=10), to=11)
        return g.op("Cast", y, to=1)
    return g.op("Cast", g.op("Cast", g.op("Cast", x, to=11), to=1), to=g.pick(11, 1))


def through_bfloat16(g, x):
    """ONNX Runtime's Python interface has no bfloat16, so the two Casts are added as one step."""
    g.need(13)
    g.low_precision = True
    middle, last = g.fresh("Cast"), g.fresh("Cast")
    nodes = [helper.make_node("Cast", [x.name], [middle], to=16),
             helper.make_node("Cast", [middle], [last], to=1)]
    g.add(nodes, [last], [x])
    return g.values[last]


@block(is_float, 1.5)
def comparisons(g, x):
    """Where behind comparisons, And, Or, Not, and constants that are all true or all false."""
    g.need(9)
    condition = g.op(g.pick("Less", "Greater"), x, operand(g, x))
    form = g.random.randint(0, 5)
    if form == 0:
        other = g.op("Not", g.op("Greater", x, operand(g, x)))
        condition = o.binary(g, g.pick("And", "Or", "Xor"), condition, other)
    elif form == 1:
        constant = g.constant(np.full(g.pick([], [1]), g.chance(0.5)))
        condition = o.binary(g, g.pick("And", "Or"), condition, constant)
    elif form == 2:
        condition = g.op("Not", g.op("Not", condition) if g.chance(0.5) else condition)
    elif form == 3:
        constant = g.constant(np.full(operand_shape(g, x), g.chance(0.5)))
        return g.op("Where", constant, x, g.op("Neg", x))
    if g.chance(0.3):
        return condition
    other = g.pick(x, operand(g, x), g.op("Tanh", x))
    pair = [x, other]
    return g.op("Where", condition, *(pair if g.chance(0.5) else pair[::-1]))


@block(is_bool, 3)
def of_bool(g, x):
    kind = g.random.randint(0, 3)
    if kind == 0:
        return g.op("Cast", x, to=g.pick(1, 6, 7, 3))
    if kind == 1:
        return g.op("Not", x)
    if kind == 2:
        return o.binary(g, g.pick("And", "Or", "Xor"), x, g.op("Not", x))
    g.need(9)
    return g.op("Where", x, g.weight(), g.weight())


@block(lambda x: x.is_float and x.dtype.itemsize != 4 and is_tensor(x), 6)
def to_float32(g, x):
    return g.op("Cast", x, to=1)


@block(is_float32, 0.7)
def other_precision(g, x):
    """A stretch of the model in float64 or float16."""
    to = g.pick(11, 11, 10)
    if to == 10:
        g.low_precision = True
        x = o.clip(g, x, -100, 100)
    y = g.op("Cast", x, to=to)
    for _ in range(g.random.randint(1, 3)):
        y = g.pick(constant_chain, algebra, clips, neutral)(g, y)
    return y
