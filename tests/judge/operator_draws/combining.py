"""Operators that combine elements: contractions, windows, normalizations, reductions."""
import numpy as np

from random_cases import CannotBeSaid, Drawn, draws, ints, is_float


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


@draws("Einsum")
def einsum(r):
    dtype = r.dtype()
    r.is_special = r.is_special and not is_float(dtype)
    labels = "abcdef"[:r.int(1, 5)]
    sizes = {label: r.dim(0) for label in labels}  # ONNX Runtime divides by a size of 0
    places = [[label for label in labels if r.chance(0.6)] for _ in range(2)]
    output = [label for label in labels if any(label in place for place in places) and r.chance(0.6)]
    for place in places + [output]:
        place.sort(key=lambda _: r.int(0, 1 << 30))
    implicit = r.chance(0.2)
    equation = ",".join("".join(place) for place in places) + ("" if implicit else "->" + "".join(output))
    inputs = [r.values(dtype, [1 if r.chance(0.1) else sizes[label] for label in place]) for place in places]
    return Drawn(inputs, {}, {"equation": equation})


@draws("STFT")
def stft(r):
    r.is_special = False
    dtype = r.dtype()
    length, is_complex = r.int(1, 9), r.chance(0.2)
    data = r.values(dtype, [r.dim(), length + r.int(0, 12), 2 if is_complex else 1])
    has_window = r.chance(0.6)
    says_length = not has_window or r.chance(0.3)
    parameters = {"frame_step": np.array(r.int(1, 5), np.int64),
                  "frame_length": np.array(length, np.int64) if says_length else None}
    return Drawn([data] + ([r.values(dtype, [length])] if has_window else []), parameters,
                 {"onesided": 0 if is_complex else r.pick([None, 0, 1])})


@draws("Attention")
def attention(r):
    r.is_special = False
    dtype = r.dtype()
    batch, rows, keys, columns, width = r.int(1, 2), r.int(1, 4), r.int(1, 5), r.int(1, 4), r.int(1, 3)
    shared = r.int(1, 2)
    heads = shared * r.int(1, 3)
    packed = r.chance(0.5)

    def part(count, length, size):
        dims = [batch, length, count * size] if packed else [batch, count, length, size]
        return r.values(dtype, dims)

    inputs = [part(heads, rows, columns), part(shared, keys, columns), part(shared, keys, width)]
    if r.chance(0.6):
        front = r.pick([[], [1], [heads], [1, 1], [batch, 1], [batch, heads]])
        inputs.append(r.values(r.pick([dtype, np.dtype(bool)]), front + [rows, keys]))
    return Drawn(inputs, {}, {"is_causal": r.pick([None, 0, 1]), "scale": r.pick([None, 0.5]),
                              "q_num_heads": heads if packed else None,
                              "kv_num_heads": shared if packed else None})


@draws("RotaryEmbedding")
def rotary_embedding(r):
    r.is_special = False
    dtype = r.dtype()
    batch, heads, rows, turned = r.int(1, 2), r.int(1, 3), r.int(1, 4), 2 * r.int(1, 3)
    columns = turned + r.pick([0, 0, 1, 2])
    packed = r.chance(0.5)
    inputs = [r.values(dtype, [batch, rows, heads * columns] if packed
                       else [batch, heads, rows, columns])]
    by_position = r.chance(0.5)
    dims = [r.int(rows, 7)] if by_position else [batch, rows]
    inputs += [r.values(dtype, dims + [turned // 2], -1, 1) for _ in range(2)]
    if by_position:
        inputs.append(ints(r.rng.integers(0, dims[0], (batch, rows))))
    says_columns = turned != columns or r.chance(0.3)
    return Drawn(inputs, {}, {"interleaved": r.pick([None, 0, 1]),
                              "num_heads": heads if packed else None,
                              "rotary_embedding_dim": turned if says_columns else None})


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
