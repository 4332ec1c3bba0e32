"""Element-wise operators."""
import numpy as np

from random_cases import CannotBeSaid, DTYPES, Drawn, draws, is_float


@draws("Neg", "Abs", "Sign", "Relu", "Floor", "Ceil", "Round", "Not", "IsNaN", "Identity", "Sqrt",
       "Reciprocal", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh",
       "Tanh", "Asinh", "Acosh", "Atanh", "Sigmoid", "Softplus", "Softsign", "HardSwish", "Mish")
def unary(r):
    return Drawn([r.values(r.dtype(), r.shape())])


def with_floats(*names, low=-2.0, high=2.0):
    """Of one input, with attributes that are floats, each left out every now and then."""
    def draw(r):
        attributes = {n: float(np.float32(r.rng.uniform(low, high))) for n in names if r.chance(0.7)}
        return Drawn([r.values(r.dtype(), r.shape())], {}, attributes)
    return draw


draws("LeakyRelu", "Elu", "ThresholdedRelu", "Swish")(with_floats("alpha"))
draws("Celu")(with_floats("alpha", low=0.1))
draws("Selu")(with_floats("alpha", "gamma", low=0.1))
draws("HardSigmoid")(with_floats("alpha", "beta", low=0.0))


@draws("IsInf")
def is_inf(r):
    attributes = {n: r.int(0, 1) for n in ("detect_negative", "detect_positive") if r.chance(0.7)}
    return Drawn([r.values(r.dtype(), r.shape())], {}, attributes)


@draws("Gelu")
def gelu(r):
    return Drawn([r.values(r.dtype(), r.shape())], {},
                 {"approximate": r.pick([None, "none", "tanh"])})


@draws("Clip")
def clip(r):
    dtype = r.dtype()
    bounds = {n: r.values(dtype, []) if r.chance(0.7) else None for n in ("min", "max")}
    return Drawn([r.values(dtype, r.shape())], bounds)


@draws("Dropout")
def dropout(r):
    parameters = {"ratio": np.array(0.5, np.float32)} if r.chance(0.5) else {}
    return Drawn([r.values(r.dtype(), r.shape())], parameters, {}, r.int(1, 2))


@draws("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater",
       "GreaterOrEqual", "PRelu")
def pair(r):
    dtype = r.dtype()
    a, b = r.broadcast_pair()
    if r.schema.name == "PRelu" and np.broadcast_shapes(a, b) != tuple(a):
        raise CannotBeSaid
    if r.schema.since_version < 7 and a != b:
        raise CannotBeSaid
    return Drawn([r.values(dtype, a), r.values(dtype, b)])


@draws("Mod")
def mod(r):
    dtype = r.dtype()
    a, b = r.broadcast_pair()
    fmod = 1 if is_float(dtype) or r.chance(0.4) else None
    return Drawn([r.values(dtype, a), r.values(dtype, b)], {}, {"fmod": fmod})


@draws("Pow")
def power(r):
    base = r.dtype()
    exponent = base
    if len(r.schema.inputs) > 1 and r.schema.inputs[1].type_str != r.schema.inputs[0].type_str:
        exponent = r.dtype(1)
    a, b = r.broadcast_pair()
    return Drawn([r.values(base, a), r.values(exponent, b, -3, 4)])


@draws("Max", "Min", "Sum", "Mean")
def several(r):
    dtype = r.dtype()
    full = r.shape()
    shapes = [[1 if r.chance(0.2) else d for d in full] for _ in range(r.int(1, 4))]
    if r.schema.since_version < 8:
        shapes = [full] * len(shapes)
    return Drawn([r.values(dtype, s) for s in shapes])


@draws("Cast")
def cast(r):
    names = [n for n, d in DTYPES.items() if d in r.allowed(r.schema.outputs[0].type_str)]
    from onnx import helper
    to = r.pick(names)
    spread = r.pick([3, 100, 300, 70000, 10**6])
    kind = helper.np_dtype_to_tensor_dtype(DTYPES[to])
    if r.schema.since_version < 6:
        kind = to[len("tensor("):-1].upper()
    return Drawn([r.values(r.dtype(), r.shape(), -spread, spread)], {}, {"to": kind})


@draws("CastLike")
def cast_like(r):
    like = r.values(r.dtype(1), r.shape())
    return Drawn([r.values(r.dtype(), r.shape(), -200, 200), like])


def steps(r, shape, dtype):
    """A scale and a zero point, for the whole tensor or per position of an axis, and the attributes."""
    has_axis = shape and "axis" in r.schema.attributes and r.chance(0.4)
    axis = r.axis(len(shape)) if has_axis else None
    per = [shape[axis]] if has_axis else []
    scale = r.rng.choice([0.25, 0.5, 1, 0.1, 0.0235], per).astype(np.float32)
    zero_point = r.integers(dtype, per, -3, 3) if r.chance(0.7) and dtype != np.int32 else None
    return scale, zero_point, {} if axis is None else {"axis": axis}


def small_integer(r, type_string):
    return r.pick([d for d in r.allowed(type_string)
                   if d in (np.int8, np.uint8, np.int16, np.uint16, np.int32)])


@draws("QuantizeLinear")
def quantize(r):
    shape = r.shape()
    dtype = small_integer(r, r.schema.outputs[0].type_str)
    scale, zero_point, attributes = steps(r, shape, dtype)
    inputs = [r.values(np.dtype(np.float32), shape, -40, 40), scale]
    return Drawn(inputs if zero_point is None else inputs + [zero_point], {}, attributes)


@draws("DequantizeLinear")
def dequantize(r):
    shape = r.shape()
    dtype = small_integer(r, r.schema.inputs[0].type_str)
    scale, zero_point, attributes = steps(r, shape, dtype)
    inputs = [r.integers(dtype, shape, -100, 100), scale]
    return Drawn(inputs if zero_point is None else inputs + [zero_point], {}, attributes)


@draws("Where")
def where(r):
    dtype = r.dtype(1)
    full = r.shape()
    shapes = [[1 if r.chance(0.25) else d for d in full] for _ in range(3)]
    shapes[r.int(0, 2)] = shapes[r.int(0, 2)][r.int(0, len(full)):]
    return Drawn([r.values(np.dtype(np.bool_), shapes[0]), r.values(dtype, shapes[1]),
                  r.values(dtype, shapes[2])])
