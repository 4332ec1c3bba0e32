"""Blocks of convolutional networks, on [N, C, H, W] with a known C."""

import numpy as np

import operators as o
from blocks import block, is_image, require


def smallest(x, axis):
    return min(array.shape[axis] for array in x.arrays)


def activation(g, x):
    kind = g.pick("none", "none", "relu", "relu", "clip", "hardswish", "hardsigmoid", "leaky",
                  "sigmoid", "silu", "tanh", "elu", "prelu", "softplus")
    if kind == "relu":
        return g.op("Relu", x)
    if kind == "clip":
        return o.clip(g, x, *g.pick((0, 6), (0, None), (None, 3), (-1, 1), (0.5, 2)))
    if kind == "hardswish":
        return g.op("HardSwish", x) if g.opset >= 14 else g.op("Mul", x, g.op("HardSigmoid", x))
    if kind == "hardsigmoid":
        return o.binary(g, "Mul", x, g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    if kind == "leaky":
        return g.op("LeakyRelu", x, alpha=g.pick(0.1, 0.01, 1.0, -0.5))
    if kind == "silu":
        return o.binary(g, "Mul", x, g.op("Sigmoid", x))
    if kind == "prelu":
        return g.op("PRelu", x, g.weight(x.dim(1), 1, 1, scale=0.3))
    names = {"sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu", "softplus": "Softplus"}
    return g.op(names[kind], x) if kind in names else x


def conv(g, x, outputs=None, kernel=None, group=1, stride=None, keep=False, bias=None, **given):
    channels = x.dim(1)
    outputs = outputs or g.pick(2, 3, 4, 6, 8)
    height, width = kernel or g.pick((1, 1), (3, 3), (3, 3), (1, 3), (3, 1), (2, 2), (5, 5))
    attributes = {"kernel_shape": [height, width]} if g.chance(0.8) else {}
    dilations = [1, 1]
    if keep:
        attributes["pads"] = [height // 2, width // 2] * 2
    elif g.chance(0.25):
        attributes["auto_pad"] = g.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        if g.chance(0.2):
            dilations = attributes["dilations"] = [g.pick(1, 2), g.pick(1, 2)]
        if g.chance(0.75):
            attributes["pads"] = [g.random.randint(0, 2) for _ in range(4)]
    if not keep and g.chance(0.3):
        attributes["strides"] = [g.pick(1, 2), g.pick(1, 2)]
    if stride:
        attributes["strides"] = [stride, stride]
    if group != 1:
        attributes["group"] = group
    require(smallest(x, 2) > (height - 1) * dilations[0])
    require(smallest(x, 3) > (width - 1) * dilations[1])
    fan = channels // group * height * width
    inputs = [x, g.weight(outputs, channels // group, height, width, scale=fan ** -0.5)]
    if g.chance(0.5) if bias is None else bias:
        inputs.append(g.weight(outputs, scale=0.5))
    return g.op("Conv", *inputs, **{**attributes, **given})


@block(is_image, 5)
def conv_norm_act(g, x):
    x = conv(g, x)
    if g.chance(0.6):
        x = o.batch_normalization(g, x, x.dim(1), g.pick(1e-5, 1e-3))
    return activation(g, x)


@block(is_image, 2)
def grouped_conv(g, x):
    group = g.pick(*[n for n in (2, 3, 4) if x.dim(1) % n == 0] or [x.dim(1)])
    x = conv(g, x, outputs=group * g.pick(1, 2), group=group)
    if g.chance(0.7):
        x = o.batch_normalization(g, x, x.dim(1))
    return activation(g, x)


@block(is_image, 2)
def depthwise_separable(g, x):
    x = conv(g, x, outputs=x.dim(1), group=x.dim(1), kernel=(3, 3), keep=True)
    if g.chance(0.4):
        x = activation(g, o.batch_normalization(g, x, x.dim(1)))
    return conv(g, x, kernel=(1, 1), keep=True)


@block(is_image, 2)
def conv_chain(g, x):
    """Two Convs in a row, the second of them 1x1: they can become one."""
    middle = g.pick(2, 8, 16)
    return conv(g, conv(g, x, outputs=middle), outputs=2, kernel=(1, 1), keep=g.chance(0.7))


@block(is_image, 3)
def residual(g, x):
    y = conv(g, x, outputs=x.dim(1), kernel=g.pick((3, 3), (1, 1)), keep=True)
    if g.chance(0.5):
        y = o.batch_normalization(g, y, y.dim(1))
    if g.chance(0.3):
        y = conv(g, activation(g, y), outputs=x.dim(1), kernel=(3, 3), keep=True)
    return activation(g, o.binary(g, "Add", x, y))


@block(is_image, 2)
def parallel_convs(g, x):
    """Branches of equal or smaller kernels that are added, as in RepVGG."""
    outputs = x.dim(1) if g.chance(0.5) else g.pick(2, 4)
    group = g.pick(1, 1, x.dim(1)) if outputs == x.dim(1) else 1
    y = conv(g, x, outputs=outputs, kernel=(3, 3), group=group, keep=True)
    for _ in range(g.pick(1, 1, 2)):
        branch = conv(g, x, outputs=outputs, kernel=g.pick((1, 1), (3, 3), (1, 3)), group=group,
                      keep=True)
        if g.chance(0.3):
            branch = o.batch_normalization(g, branch, outputs)
        y = o.binary(g, "Add", y, branch)
    if outputs == x.dim(1) and g.chance(0.4):
        y = o.binary(g, "Add", y, o.batch_normalization(g, x, outputs))
    return y


@block(is_image, 3)
def sibling_convs(g, x):
    """Convs of one input that can be merged, with a Concat, a sum, or separate users."""
    kernel = g.pick((1, 1), (1, 1), (3, 3))
    count = g.pick(2, 2, 3)
    outputs = g.pick(2, 4)
    parts = [conv(g, x, outputs=outputs if g.chance(0.8) else 3, kernel=kernel, keep=True,
                  bias=g.chance(0.6)) for _ in range(count)]
    parts = [activation(g, part) if g.chance(0.4) else part for part in parts]
    if g.chance(0.6):
        return g.op("Concat", *parts, axis=g.pick(1, -3))
    return parts


@block(is_image, 1)
def shared_weight(g, x):
    """Two inputs under one weight, added up."""
    weight = g.weight(4, x.dim(1), 1, 1)
    y = g.op("Conv", x, weight)
    z = g.op("Conv", activation(g, x), weight)
    return o.binary(g, "Add", y, z)


@block(is_image, 2)
def pool(g, x):
    kind = g.pick("MaxPool", "AveragePool", "AveragePool", "LpPool")
    size = g.pick(2, 3)
    attributes = {"kernel_shape": [size, g.pick(1, size)]}
    if g.chance(0.7):
        attributes["strides"] = [g.pick(1, 2), g.pick(1, 2)]
    if g.chance(0.2):
        attributes["auto_pad"] = g.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif g.chance(0.5):
        attributes["pads"] = [g.pick(0, 0, 1) if attributes["kernel_shape"][i % 2] > 1 else 0
                              for i in range(4)]
    if kind != "LpPool" and g.opset >= 10 and g.chance(0.4):
        attributes["ceil_mode"] = 1
    if kind == "AveragePool" and g.chance(0.5):
        attributes["count_include_pad"] = 1
    require(min(smallest(x, 2), smallest(x, 3)) >= size)
    return g.op(kind, x, **attributes)


@block(is_image, 2)
def squeeze_excite(g, x):
    channels = x.dim(1)
    if g.chance(0.6):
        y = g.op("GlobalAveragePool", x)
    else:
        y = o.reduce(g, "ReduceMean", x, g.pick([2, 3], [-1, -2]))
    y = g.op("Relu", conv(g, y, outputs=2, kernel=(1, 1), keep=True))
    y = conv(g, y, outputs=channels, kernel=(1, 1), keep=True)
    y = g.op(g.pick("Sigmoid", "HardSigmoid"), y)
    return o.binary(g, "Mul", x, y)


@block(is_image, 1.5)
def conv_transpose(g, x):
    group = g.pick(1, 1, x.dim(1))
    outputs = g.pick(1, 2, 3)
    size = g.pick(2, 3)
    require(smallest(x, 2) > 2 and smallest(x, 3) > 2)
    attributes = {"strides": [g.pick(1, 2), g.pick(1, 2)], "group": group}
    if g.chance(0.3):
        attributes["auto_pad"] = g.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif g.chance(0.5):
        attributes["pads"] = [g.pick(0, 1) for _ in range(4)]
    if attributes["strides"] == [2, 2] and "auto_pad" not in attributes and g.chance(0.3):
        attributes["output_padding"] = [1, g.pick(0, 1)]
    inputs = [x, g.weight(x.dim(1), outputs, size, size, scale=0.4)]
    if g.chance(0.5):
        inputs.append(g.weight(outputs * group))
    y = g.op("ConvTranspose", *inputs, **attributes)
    choice = g.random.random()
    if choice < 0.3:
        return o.batch_normalization(g, y, y.dim(1))
    if choice < 0.6:
        y = o.binary(g, "Mul", y, channel_vector(g, y))
        return o.binary(g, "Add", y, channel_vector(g, y)) if g.chance(0.5) else y
    return y


def channel_vector(g, x):
    channels = x.dim(1)
    return g.weight(*g.pick([channels, 1, 1], [1, channels, 1, 1], [1, 1, 1], []), scale=0.7)


@block(is_image, 3)
def scale_and_shift(g, x):
    """Scales and shifts along channels before, behind or between Convs."""
    for _ in range(g.random.randint(1, 3)):
        step = g.pick("conv", "mul", "add", "sub", "div", "norm", "norm")
        if step == "conv":
            x = conv(g, x)
        elif step == "norm":
            x = o.batch_normalization(g, x, x.dim(1))
        elif step in ("mul", "add"):
            x = o.binary(g, step.capitalize(), x, channel_vector(g, x))
        elif step == "sub":
            pair = [x, channel_vector(g, x)]
            x = g.op("Sub", *(pair if g.chance(0.7) else pair[::-1]))
        else:
            divisor = channel_vector(g, x).arrays[0]
            x = g.op("Div", x, g.constant(np.where(np.abs(divisor) < 0.2, 0.5, divisor)
                                          .astype(np.float32)))
    return x if g.chance(0.5) else conv(g, x)


@block(is_image, 1.5)
def pad_and_conv(g, x):
    pads = [0, 0, g.pick(0, 1), g.pick(1, 2), 0, 0, g.pick(0, 1), g.pick(0, 1)]
    if g.chance(0.1):
        pads[2] = -1
    if g.chance(0.1):
        pads[1] = 1
    mode = g.pick("constant", "constant", "constant", "reflect", "edge")
    require(mode == "constant" or min(smallest(x, 2), smallest(x, 3)) > 2)
    value = g.pick(None, None, 0.0, 1.5) if mode == "constant" else None
    return conv(g, o.pad(g, x, pads, mode, value))


@block(is_image, 1.5)
def concat_split_channels(g, x):
    channels = x.dim(1)
    require(channels >= 2)
    cut = g.random.randint(1, channels - 1)
    parts = o.split(g, x, [cut, channels - cut], g.pick(1, -3))
    if g.chance(0.5):
        parts[0] = activation(g, parts[0])
    if g.chance(0.4):
        parts[1] = conv(g, parts[1], outputs=channels - cut, kernel=(3, 3), keep=True)
    if g.chance(0.3):
        parts.reverse()
    return g.op("Concat", *parts, axis=1)


@block(is_image, 1)
def channel_shuffle(g, x):
    channels = x.dim(1)
    groups = g.pick(*[n for n in (2, 3, 4) if channels % n == 0] or [1])
    if g.chance(0.5):
        y = o.reshape(g, x, [0, groups, channels // groups, -1])
        y = g.op("Transpose", y, perm=[0, 2, 1, 3])
        height, width = o.size_of(g, x, 2), o.size_of(g, x, 3)
        return o.reshape_by_parts(g, y, [o.size_of(g, x, 0), channels, height, width])
    parts = [o.size_of(g, x, axis) for axis in (0, 2, 3)]
    y = o.reshape_by_parts(g, x, [parts[0], groups, channels // groups, parts[1], parts[2]])
    y = g.op("Transpose", y, perm=[0, 2, 1, 3, 4])
    return o.reshape_by_parts(g, y, [parts[0], channels, parts[1], parts[2]])


@block(is_image, 1)
def resize(g, x):
    mode = g.pick("nearest", "nearest", "linear")
    attributes = {}
    if g.opset >= 11:
        attributes["coordinate_transformation_mode"] = g.pick(
            "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        if mode == "nearest":
            attributes["nearest_mode"] = g.pick(
                "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    factors = [g.pick(1.0, 2.0, 2.0, 0.5, 1.5), g.pick(1.0, 2.0, 2.0)]
    require(smallest(x, 2) > 3)
    y = o.resize(g, x, [1.0, 1.0, *factors], mode, **attributes)
    return conv(g, y, kernel=(1, 1)) if g.chance(0.4) else y


@block(is_image, 1)
def opaque_image(g, x):
    """Operators that rewrites know nothing of."""
    kind = g.pick("InstanceNormalization", "LRN", "DepthToSpace", "SpaceToDepth", "GlobalMaxPool")
    channels = x.dim(1)
    if kind == "InstanceNormalization":
        x = g.op(kind, x, g.weight(channels), g.weight(channels))
    elif kind == "LRN":
        x = g.op(kind, x, size=3)
    elif kind == "DepthToSpace":
        require(channels % 4 == 0)
        x = g.op(kind, x, blocksize=2)
    elif kind == "SpaceToDepth":
        require(all(a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0 for a in x.arrays))
        x = g.op(kind, x, blocksize=2)
    else:
        x = g.op(kind, x)
    return o.batch_normalization(g, conv(g, x), 4) if x.dim(1) == 4 and g.chance(0.3) else x


@block(is_image, 1)
def channels_last(g, x):
    """A trip to [N, H, W, C] and back, as TensorFlow's exporter writes it."""
    y = g.op("Transpose", x, perm=[0, 2, 3, 1])
    for _ in range(g.random.randint(0, 3)):
        step = g.pick("relu", "add", "mul", "matmul")
        if step == "relu":
            y = g.op("Relu", y)
        elif step == "matmul":
            y = g.op("MatMul", y, g.weight(x.dim(1), x.dim(1), scale=0.5))
        else:
            y = o.binary(g, step.capitalize(), y, g.weight(x.dim(1)))
    return g.op("Transpose", y, perm=[0, 3, 1, 2]) if g.chance(0.8) else y


@block(is_image, 1)
def image_to_matrix(g, x):
    """The classifier's head."""
    y = g.op(g.pick("GlobalAveragePool", "GlobalMaxPool"), x)
    kind = g.random.random()
    if kind < 0.4:
        y = g.op("Flatten", y, axis=1)
    elif kind < 0.6:
        y = o.squeeze(g, y, g.pick([2, 3], [-1, -2]))
    elif kind < 0.8:
        y = o.reshape(g, y, g.pick([0, -1], [-1, x.dim(1)]))
    else:
        y = o.reshape_by_parts(g, y, [o.size_of(g, x, 0), g.pick(-1, x.dim(1))])
    columns = g.pick(3, 5)
    bias = g.weight(columns) if g.chance(0.7) else None
    return o.gemm(g, y, g.weight(columns, x.dim(1)), bias, transB=1)


@block(is_image, 1)
def image_to_sequence(g, x):
    """[N, C, H, W] to [N, H W, C], as vision transformers cut patches."""
    channels = x.dim(1)
    kind = g.random.random()
    if kind < 0.4:
        y = o.reshape(g, x, [0, channels, -1])
    elif kind < 0.7:
        y = o.reshape_by_parts(g, x, [o.size_of(g, x, 0), channels, -1])
    else:
        y = g.op("Flatten", g.op("Transpose", x, perm=[1, 0, 2, 3]), axis=1)
        return g.op("Transpose", o.reshape_by_parts(g, y, [channels, o.size_of(g, x, 0), -1]),
                    perm=[1, 2, 0])
    return g.op("Transpose", y, perm=[0, 2, 1])
