"""One function per family of operators that draws a node; see random_cases.py."""
import numpy as np

from random_cases import CannotBeSaid, DTYPES, Drawn, FLOATS, draws, ints, is_float

# --- Element-wise ---


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


@draws("Where")
def where(r):
    dtype = r.dtype(1)
    full = r.shape()
    shapes = [[1 if r.chance(0.25) else d for d in full] for _ in range(3)]
    shapes[r.int(0, 2)] = shapes[r.int(0, 2)][r.int(0, len(full)):]
    return Drawn([r.values(np.dtype(np.bool_), shapes[0]), r.values(dtype, shapes[1]),
                  r.values(dtype, shapes[2])])

# --- Contractions and windows ---


def window_attributes(r, axes, kernel, same=True):
    attributes = {}
    if r.chance(0.5):
        attributes["strides"] = [r.int(1, 3) for _ in range(axes)]
    if r.chance(0.4):
        attributes["dilations"] = [r.int(1, 2) for _ in range(axes)]
    if r.chance(0.5):
        attributes["pads"] = [r.int(0, k - 1) for k in kernel + kernel]
    elif r.chance(0.3) and same:
        attributes["auto_pad"] = r.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    return attributes


@draws("Conv")
def conv(r):
    dtype = r.dtype()
    axes, groups = r.int(1, 3), r.pick([1, 1, 2, 3])
    kernel = [r.int(1, 3) for _ in range(axes)]
    inputs = groups * r.int(1, 2)
    outputs = groups * r.int(1, 3)
    attributes = window_attributes(r, axes, kernel)
    attributes["group"] = groups if groups > 1 else None
    attributes["kernel_shape"] = kernel if r.chance(0.5) else None
    r.is_special = False
    data = r.values(dtype, [r.int(0 if r.chance(0.05) else 1, 2), inputs]
                    + [r.int(3, 7) for _ in kernel])
    weights = r.values(dtype, [outputs, inputs // groups] + kernel)
    return Drawn([data, weights] + ([r.values(dtype, [outputs])] if r.chance(0.5) else []), {},
                 attributes)


@draws("ConvTranspose")
def conv_transpose(r):
    dtype = r.dtype()
    axes, groups = r.int(1, 2), r.pick([1, 1, 2])
    kernel = [r.int(1, 3) for _ in range(axes)]
    inputs, outputs = groups * r.int(1, 2), r.int(1, 3)
    attributes = window_attributes(r, axes, kernel)
    strides = attributes.get("strides", [1] * axes)
    attributes["group"] = groups if groups > 1 else None
    attributes["kernel_shape"] = kernel if r.chance(0.5) else None
    if r.chance(0.3):
        attributes["output_padding"] = [r.int(0, s - 1) for s in strides]
    r.is_special = False
    data = r.values(dtype, [r.int(1, 2), inputs] + [r.int(3, 5) for _ in kernel])
    if r.chance(0.2) and "pads" not in attributes and "output_padding" not in attributes:
        attributes["output_shape"] = [d * s for d, s in zip(data.shape[2:], strides)]
    weights = r.values(dtype, [inputs, outputs] + kernel)
    bias = [r.values(dtype, [outputs * groups])] if r.chance(0.5) else []
    return Drawn([data, weights] + bias, {}, attributes)


@draws("MaxPool", "AveragePool")
def pool(r):
    dtype = r.dtype()
    axes = r.int(1, 3)
    kernel = [r.int(1, 3) for _ in range(axes)]
    attributes = window_attributes(r, axes, kernel)
    attributes["kernel_shape"] = kernel
    attributes["ceil_mode"] = r.pick([None, 0, 1])
    outputs = 1
    if r.schema.name == "AveragePool":
        attributes["count_include_pad"] = r.pick([None, 0, 1])
    elif r.chance(0.2):
        attributes["storage_order"] = 0
        outputs = r.int(1, 2)
    data = r.values(dtype, [r.int(1, 2), r.int(1, 2)] + [r.int(3, 7) for _ in kernel])
    return Drawn([data], {}, attributes, outputs)


@draws("GlobalAveragePool", "GlobalMaxPool")
def global_pool(r):
    return Drawn([r.values(r.dtype(), [r.dim(), r.dim()] + r.shape(1, 3, 0))])


@draws("MatMul")
def matmul(r):
    dtype = r.dtype()
    r.is_special = r.is_special and not is_float(dtype)
    m, k, n = r.dim(), r.dim(), r.dim()
    outer_a, outer_b = r.broadcast_pair(2)
    a, b = outer_a + [m, k], outer_b + [k, n]
    if r.chance(0.15):
        a = [k]
    elif r.chance(0.15):
        b = [k]
    return Drawn([r.values(dtype, a), r.values(dtype, b)])


@draws("Gemm")
def gemm(r):
    dtype = r.dtype()
    r.is_special = False
    m, k, n = r.dim(), r.dim(0), r.dim()
    trans_a, trans_b = r.chance(0.4), r.chance(0.4)
    inputs = [r.values(dtype, [k, m] if trans_a else [m, k]),
              r.values(dtype, [n, k] if trans_b else [k, n])]
    if r.schema.since_version < 11 or r.chance(0.6):
        c = r.pick([[m, n], [n], [1, n], [m, 1], [1], []])
        if r.schema.since_version < 7 and c != [m, n]:
            raise CannotBeSaid
        inputs.append(r.values(dtype, c))
    numbers = [1.0, 0.5, 2.0] if is_float(dtype) else [1.0, 2.0]
    return Drawn(inputs, {}, {"transA": int(trans_a) or None, "transB": int(trans_b) or None,
                              "alpha": r.pick([None] + numbers), "beta": r.pick([None] + numbers)})

# --- Normalizations and reductions ---


@draws("Softmax", "LogSoftmax")
def softmax(r):
    shape = r.shape(1, 4)
    return Drawn([r.values(r.dtype(), shape)], {},
                 {"axis": r.axis(len(shape)) if r.chance(0.7) else None})


@draws("LayerNormalization", "RMSNormalization")
def block_normalization(r):
    dtype = r.dtype()
    shape = r.shape(1, 4)
    axis = r.axis(len(shape)) if r.chance(0.7) else None
    tail = shape[axis if axis is not None else -1:]
    inputs = [r.values(dtype, shape), r.values(dtype, tail)]
    if r.schema.name == "LayerNormalization" and r.chance(0.5):
        inputs.append(r.values(dtype, tail))
    epsilon = r.pick([None, 1e-5, 1e-3])
    return Drawn(inputs, {}, {"axis": axis, "epsilon": epsilon})


def per_channel(r, dtype, channels, vectors):
    data = r.values(dtype, [r.int(1, 2), channels] + r.shape(0, 3, 0))
    return [data] + [r.values(dtype, [channels]) for _ in range(vectors)]


@draws("BatchNormalization")
def batch_normalization(r):
    r.is_special = False
    inputs = per_channel(r, r.dtype(), r.int(1, 4), 3)
    channels = inputs[1].shape[0]
    inputs.append(r.values(inputs[0].dtype, [channels], 0, 4))
    if r.schema.since_version < 7:
        raise CannotBeSaid
    return Drawn(inputs, {}, {"epsilon": r.pick([None, 1e-3])})


@draws("InstanceNormalization")
def instance_normalization(r):
    r.is_special = False
    dtype = r.dtype()
    channels = r.int(1, 4)
    inputs = [r.values(dtype, [r.int(1, 2), channels] + r.shape(1, 3, 0))]
    return Drawn(inputs + [r.values(dtype, [channels]) for _ in range(2)], {},
                 {"epsilon": r.pick([None, 1e-3])})


@draws("GroupNormalization")
def group_normalization(r):
    r.is_special = False
    dtype = r.dtype()
    groups = r.int(1, 3)
    channels = groups * r.int(1, 2)
    data = r.values(dtype, [r.int(1, 2), channels] + r.shape(1, 2, 0))
    length = channels if r.schema.since_version >= 21 else groups
    return Drawn([data] + [r.values(dtype, [length]) for _ in range(2)], {},
                 {"num_groups": groups, "epsilon": r.pick([None, 1e-3])})


@draws("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
       "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduce(r):
    shape = r.shape(0, 4, 0.03)
    parameters = {}
    if r.chance(0.8) and shape:
        parameters["axes"] = ints(r.axes(len(shape), least=1))
    elif r.chance(0.3) and "axes" not in r.schema.attributes:
        parameters["axes"] = ints([])
    attributes = {"keepdims": r.pick([None, 0, 1])}
    if "noop_with_empty_axes" in r.schema.attributes:
        attributes["noop_with_empty_axes"] = r.pick([None, 0, 1])
    return Drawn([r.values(r.dtype(), shape, -4, 4)], parameters, attributes)


@draws("ArgMax", "ArgMin")
def arg(r):
    shape = r.shape(1, 4, 0)
    attributes = {"axis": r.axis(len(shape)) if r.chance(0.7) else None,
                  "keepdims": r.pick([None, 0, 1])}
    if "select_last_index" in r.schema.attributes:
        attributes["select_last_index"] = r.pick([None, 0, 1])
    return Drawn([r.values(r.dtype(), shape, -2, 2)], {}, attributes)


@draws("CumSum")
def cumsum(r):
    shape = r.shape(1, 3)
    return Drawn([r.values(r.dtype(), shape)], {"axis": np.array(r.axis(len(shape)), np.int64)},
                 {"exclusive": r.pick([None, 0, 1]), "reverse": r.pick([None, 0, 1])})

# --- Views ---


@draws("Reshape")
def reshape(r):
    shape = r.shape(0, 4)
    count = int(np.prod(shape, dtype=np.int64))
    target = [int(d) for d in r.rng.permutation(shape)]
    if r.chance(0.3):
        target.insert(r.int(0, len(target)), 1)
    if r.chance(0.3) and len(shape) > 1:
        target = [shape[0], -1 if count else count // max(shape[0], 1)]
    if r.chance(0.3) and count:
        target = [-1 if i == 0 else d for i, d in enumerate(target)]
    if r.chance(0.3) and count:
        target = [0 if i < len(shape) and shape[i] == d else d for i, d in enumerate(target)]
    zero = {"allowzero": r.pick([None, 0, 1]) if count else 1}
    if "allowzero" not in r.schema.attributes:
        zero = {}
        if not count:
            raise CannotBeSaid
    if zero.get("allowzero") and count and 0 in target:
        raise CannotBeSaid
    return Drawn([r.values(r.dtype(), shape)], {"shape": ints(target)}, zero)


@draws("Flatten")
def flatten(r):
    shape = r.shape(1, 4)
    low = -len(shape) if r.schema.since_version >= 11 else 0
    return Drawn([r.values(r.dtype(), shape)], {},
                 {"axis": r.int(low, len(shape)) if r.chance(0.8) else None})


@draws("Squeeze")
def squeeze(r):
    shape = [1 if r.chance(0.5) else r.dim() for _ in range(r.int(0, 5))]
    ones = [i for i, d in enumerate(shape) if d == 1]
    parameters = {}
    if ones and r.chance(0.7):
        low = r.schema.since_version >= 11
        axes = [i - len(shape) if low and r.chance(0.3) else i for i in ones if r.chance(0.7)]
        parameters["axes"] = ints(axes or ones)
    return Drawn([r.values(r.dtype(), shape)], parameters)


@draws("Unsqueeze")
def unsqueeze(r):
    shape = r.shape(0, 3)
    rank = len(shape) + r.int(1, 2)
    axes = [int(a) for a in r.rng.permutation(rank)[:rank - len(shape)]]
    if r.schema.since_version >= 11:
        axes = [a - rank if r.chance(0.3) else a for a in axes]
    else:
        axes.sort()
    return Drawn([r.values(r.dtype(), shape)], {"axes": ints(axes)})


@draws("Shape")
def shape_of(r):
    attributes = {}
    if "start" in r.schema.attributes:
        attributes = {n: r.int(-6, 6) for n in ("start", "end") if r.chance(0.5)}
    return Drawn([r.values(r.dtype(), r.shape(0, 5))], {}, attributes)


@draws("Size")
def size_of(r):
    return Drawn([r.values(r.dtype(), r.shape(0, 5))])

# --- Moves ---


@draws("Transpose")
def transpose(r):
    shape = r.shape(0, 5)
    perm = [int(a) for a in r.rng.permutation(len(shape))]
    return Drawn([r.values(r.dtype(), shape)], {},
                 {"perm": perm if perm and r.chance(0.8) else None})


@draws("Concat")
def concat(r):
    dtype = r.dtype()
    shape = r.shape(1, 4)
    axis = r.axis(len(shape)) if r.schema.since_version >= 11 else r.int(0, len(shape) - 1)
    parts = []
    for _ in range(r.int(1, 4)):
        part = list(shape)
        part[axis] = r.dim(0.1)
        parts.append(r.values(dtype, part))
    return Drawn(parts, {}, {"axis": axis})


@draws("Split")
def split(r):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape)) if r.schema.since_version >= 11 else r.int(0, len(shape) - 1)
    outputs = r.int(1, 3)
    attributes = {"axis": axis if axis or r.chance(0.5) else None}
    parameters = {}
    if r.chance(0.6):
        sizes = [r.int(0 if r.chance(0.2) else 1, 3) for _ in range(outputs)]
        shape[axis] = sum(sizes)
        parameters["split"] = ints(sizes)
    elif "num_outputs" in r.schema.attributes:
        attributes["num_outputs"] = outputs
    else:
        shape[axis] = outputs * r.int(1, 2)
    return Drawn([r.values(r.dtype(), shape)], parameters, attributes, outputs)


@draws("Slice")
def slices(r):
    shape = r.shape(1, 4)
    extremes = [2**63 - 1, -2**63, -2**63 + 1, 2**31 - 1, -2**31]
    axes = r.axes(len(shape), least=1) if r.chance(0.8) else list(range(r.int(1, len(shape))))
    if r.schema.since_version < 10:
        axes = [a % len(shape) for a in axes]
    named = axes != list(range(len(axes))) or r.chance(0.5)
    numbers = {}
    for name in ("starts", "ends"):
        numbers[name] = ints([r.pick(extremes) if r.chance(0.15) else r.int(-7, 7) for _ in axes])
    if named:
        numbers["axes"] = ints(axes)
    if r.schema.since_version >= 10 and r.chance(0.6):
        steps = [1, 1, 2, 3, -1, -1, -2, -3, 100, -100, 2**63 - 1, -2**63, -2**63 + 1]
        numbers["steps"] = ints([r.pick(steps) for _ in axes])
    if r.schema.since_version >= 10 and r.chance(0.2):
        fits = all(abs(int(v)) < 2**31 for values in numbers.values() for v in values)
        numbers = {k: v.astype(np.int32) for k, v in numbers.items()} if fits else numbers
    return Drawn([r.values(r.dtype(), shape)], numbers)


@draws("Pad")
def pad(r):
    mode = r.pick(["constant", "constant", "reflect", "edge", "wrap"])
    if mode == "wrap" and r.schema.since_version < 19:
        raise CannotBeSaid
    dtype = r.dtype()
    shape = r.shape(1, 4, 0.04 if mode == "constant" else 0)
    parameters = {}
    axes = range(len(shape))
    if r.schema.since_version >= 18 and r.chance(0.5):
        axes = r.axes(len(shape), least=1)
        parameters["axes"] = ints(axes)
    low = -1 if r.chance(0.3) else 0
    high = [max(shape[a] - 1, 0) if mode == "reflect" else 3 for a in axes]
    before = [r.int(low, h) for h in high]
    after = [r.int(low, h) for h in high]
    parameters["pads"] = ints(before + after)
    if mode == "constant" and r.chance(0.5):
        name = "value" if r.schema.since_version < 11 else "constant_value"
        parameters[name] = r.values(dtype, [])
    return Drawn([r.values(dtype, shape)], parameters,
                 {"mode": mode if mode != "constant" or r.chance(0.5) else None})


@draws("Expand")
def expand(r):
    a, b = r.broadcast_pair()
    return Drawn([r.values(r.dtype(), a)], {"shape": ints(b)})


@draws("Tile")
def tile(r):
    shape = r.shape(1, 4)
    if r.schema.since_version < 6:
        raise CannotBeSaid
    return Drawn([r.values(r.dtype(), shape)],
                 {"repeats": ints([r.int(0 if r.chance(0.1) else 1, 3) for _ in shape])})


@draws("Trilu")
def trilu(r):
    parameters = {}
    if r.chance(0.7):
        parameters["k"] = np.array(r.int(-9, 9) if r.chance(0.8) else r.pick([2**62, -2**62]), np.int64)
    return Drawn([r.values(r.dtype(), r.shape(0, 2) + [r.dim(), r.dim()])], parameters,
                 {"upper": r.pick([None, 0, 1])})


def indices(r, dtype, shape, length):
    low = -length if r.schema.since_version >= 11 else 0
    if length == 0 and int(np.prod(shape)):
        raise CannotBeSaid
    return r.rng.integers(low, max(length, 1), shape).astype(dtype)


@draws("Gather")
def gather(r):
    shape = r.shape(1, 4)
    axis = r.axis(len(shape))
    return Drawn([r.values(r.dtype(), shape), indices(r, r.dtype(1), r.shape(0, 3), shape[axis])], {},
                 {"axis": axis if axis or r.chance(0.5) else None})


@draws("GatherElements")
def gather_elements(r):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    positive = axis % len(shape)
    own = [r.dim(0.05) if i == positive else r.int(1, d) for i, d in enumerate(shape)]
    return Drawn([r.values(r.dtype(), shape), indices(r, r.dtype(1), own, shape[axis])], {},
                 {"axis": axis if axis or r.chance(0.5) else None})


def nd_indices(r, shape, lead, depth, batch=0):
    low = [-shape[batch + i] if r.schema.since_version >= 11 else 0 for i in range(depth)]
    columns = [r.rng.integers(low[i], shape[batch + i], lead) for i in range(depth)]
    return np.stack(columns, -1).astype(np.int64)


@draws("GatherND")
def gather_nd(r):
    shape = r.shape(1, 4, 0)
    batch = r.int(0, len(shape) - 1) if r.chance(0.4) and "batch_dims" in r.schema.attributes else 0
    depth = r.int(1, len(shape) - batch)
    lead = shape[:batch] + r.shape(0, 2, 0.03)
    return Drawn([r.values(r.dtype(), shape), nd_indices(r, shape, lead, depth, batch)], {},
                 {"batch_dims": batch or None})


@draws("ScatterND")
def scatter_nd(r):
    dtype = r.dtype()
    shape = r.shape(1, 4, 0)
    depth = r.int(1, len(shape))
    lead = r.shape(0, 2, 0.03)
    at = nd_indices(r, shape, lead, depth)
    attributes = {}
    if "reduction" in r.schema.attributes:
        names = ["none", "add", "mul"] + (["max", "min"] if r.schema.since_version >= 18 else [])
        attributes["reduction"] = r.pick([None] + names)
    if attributes.get("reduction") in (None, "none"):  # which of two updates wins is not said
        spots = [tuple(int(i) % d for i, d in zip(row, shape)) for row in at.reshape(-1, depth)]
        if len(set(spots)) != len(spots):
            raise CannotBeSaid
    return Drawn([r.values(dtype, shape), at, r.values(dtype, lead + shape[depth:])], {}, attributes)

# --- Sources ---


@draws("ConstantOfShape")
def constant_of_shape(r):
    value = None
    if r.chance(0.7):
        value = r.values(r.pick(r.allowed(r.schema.outputs[0].type_str)), [1])
    return Drawn([ints(r.shape(0, 4))], {}, {"value": value})


@draws("Range")
def range_of(r):
    dtype = r.dtype()
    r.is_special = False
    step = r.pick([0.1, 0.3, 1 / 3, 1, 2, -1, -0.7]) if is_float(dtype) else r.pick([1, 2, 3, -1, -2])
    start, length = r.int(-5, 5), r.int(0, 40)
    limit = start + step * length + (r.pick([0, 0.05]) if is_float(dtype) else 0)
    if not is_float(dtype) and min(limit, start, step) < np.iinfo(dtype).min:
        raise CannotBeSaid
    return Drawn([np.array(v).astype(dtype) for v in (start, limit, step)])


@draws("Resize")
def resize(r):
    version = r.schema.since_version
    if version < 11:
        raise CannotBeSaid
    dtype = r.dtype()
    mode = r.pick(["nearest", "nearest", "linear", "linear", "cubic"])
    transformations = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                       "tf_crop_and_resize"]
    transformations += ["half_pixel_symmetric"] if version >= 19 else []
    transformations += ["tf_half_pixel_for_nn"] if version < 13 else []
    transformation = r.pick(transformations)
    r.is_special = False
    spatial = r.int(1, 2)
    shape = [r.int(1, 2), r.int(1, 2)] + [r.int(1, 6) for _ in range(spatial)]
    sizes = shape[:2] + [r.int(1, 9) for _ in range(spatial)]
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation,
                  "nearest_mode": r.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
                  if mode == "nearest" else None}
    if version >= 18 and mode != "nearest":
        attributes["antialias"] = r.pick([None, None, 1])
    attributes["exclude_outside"] = 1 if mode == "cubic" and r.chance(0.3) else None
    parameters = {"roi": np.zeros([0], np.float32)}
    if transformation == "tf_crop_and_resize":
        rank = len(shape)
        starts = [0.0] * 2 + [r.pick([0, 0.1, 0.4, -0.2]) for _ in range(spatial)]
        ends = [1.0] * 2 + [r.pick([1, 0.9, 0.6, 1.3]) for _ in range(spatial)]
        parameters["roi"] = np.array(starts + ends, np.float32).reshape(2 * rank)
        attributes["extrapolation_value"] = r.pick([None, 10.0])
    if r.chance(0.5):
        parameters["scales"] = np.array(
            [1, 1] + [r.pick([0.5, 0.6, 0.8, 1, 1.5, 2, 2.3, 3, o / i]) for o, i in zip(sizes[2:], shape[2:])],
            np.float32)
    else:
        parameters["scales"] = np.zeros([0], np.float32)
        parameters["sizes"] = ints(sizes)
        if version >= 13:
            parameters["scales"] = None
        if version >= 18 and r.chance(0.2):
            attributes["keep_aspect_ratio_policy"] = r.pick(["not_larger", "not_smaller", "stretch"])
            parameters["sizes"] = ints(sizes[2:])
            attributes["axes"] = list(range(2, len(shape)))
            if transformation == "tf_crop_and_resize":
                raise CannotBeSaid
    return Drawn([r.values(dtype, shape)], parameters, attributes)
