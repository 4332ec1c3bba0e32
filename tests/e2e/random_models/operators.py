"""Operators in the form of the graph's opset: what is an attribute in one is an input in another."""

import numpy as np


def reshape(g, x, shape):
    return g.op("Reshape", x, g.ints(*shape))


def _with_axes(g, kind, x, axes, since, **attributes):
    if g.opset >= since:
        return g.op(kind, x, g.ints(*axes), **attributes)
    return g.op(kind, x, axes=list(axes), **attributes)


def squeeze(g, x, axes):
    return _with_axes(g, "Squeeze", x, axes, 13)


def unsqueeze(g, x, axes):
    return _with_axes(g, "Unsqueeze", x, axes, 13)


def reduce(g, kind, x, axes, keepdims=1):
    since = 13 if kind == "ReduceSum" else 18
    if axes is None:
        return g.op(kind, x, keepdims=keepdims)
    return _with_axes(g, kind, x, axes, since, keepdims=keepdims)


def slice_(g, x, starts, ends, axes, steps=None):
    if g.opset < 10:
        if steps and any(step != 1 for step in steps):
            g.need(10)
        return g.op("Slice", x, starts=list(starts), ends=list(ends), axes=list(axes))
    inputs = [x, g.ints(*starts), g.ints(*ends), g.ints(*axes)]
    if steps:
        inputs.append(g.ints(*steps))
    return g.op("Slice", *inputs)


def pad(g, x, pads, mode="constant", value=None):
    if g.opset < 11:
        return g.op("Pad", x, pads=list(pads), mode=mode, value=float(value or 0.0))
    inputs = [x, g.ints(*pads)]
    if value is not None:
        inputs.append(g.constant(np.array(value, x.dtype)))
    return g.op("Pad", *inputs, mode=mode)


def clip(g, x, low=None, high=None):
    if g.opset < 11:
        bounds = {"min": low, "max": high}
        return g.op("Clip", x, **{k: float(v) for k, v in bounds.items() if v is not None})
    inputs = [x] + [None if v is None else g.constant(np.array(v, x.dtype)) for v in (low, high)]
    while inputs[-1] is None:
        inputs.pop()
    return g.op("Clip", *inputs)


def split(g, x, sizes, axis):
    if g.opset >= 13:
        return g.op("Split", x, g.ints(*sizes), axis=axis, outputs=len(sizes))
    return g.op("Split", x, split=list(sizes), axis=axis, outputs=len(sizes))


def top_k(g, x, k, axis, **attributes):
    """Values and indices."""
    if g.opset < 10:
        return g.op("TopK", x, k=k, axis=axis, outputs=2)
    if g.opset < 11:
        attributes = {}
    return g.op("TopK", x, g.ints(k), axis=axis, outputs=2, **attributes)


def resize(g, x, scales, mode, **attributes):
    if g.opset == 9:
        return g.op("Upsample", x, g.constant(np.array(scales, np.float32)), mode=mode)
    if g.opset < 9:
        return g.op("Upsample", x, scales=[float(s) for s in scales], mode=mode)
    factors = g.constant(np.array(scales, np.float32))
    if g.opset == 10:
        return g.op("Resize", x, factors, mode=mode)
    region = g.constant(np.zeros(0, np.float32)) if g.opset < 13 else None
    return g.op("Resize", x, region, factors, mode=mode, **attributes)


def batch_normalization(g, x, channels, epsilon=1e-5):
    scale = g.constant((0.5 + g.numpy.random(channels)).astype(np.float32))
    shift = g.weight(channels, scale=0.3)
    mean = g.weight(channels, scale=0.3)
    variance = g.constant((0.5 + g.numpy.random(channels)).astype(np.float32))
    return g.op("BatchNormalization", x, scale, shift, mean, variance, epsilon=epsilon)


def gemm(g, x, weight, bias, **attributes):
    if bias is None and g.opset < 11:
        columns = weight.dim(0 if attributes.get("transB") else 1)
        bias = g.constant(np.zeros(columns, np.float32))
    return g.op("Gemm", *([x, weight] + ([bias] if bias else [])), **attributes)


def binary(g, kind, x, y):
    """A commutative operator with its operands in either order."""
    return g.op(kind, x, y) if g.chance(0.6) else g.op(kind, y, x)


def size_of(g, x, axis):
    """The size of an axis as a tensor [1], as exporters compute it."""
    shape = g.op("Shape", x)
    if g.chance(0.4):
        return slice_(g, shape, [axis], [axis + 1], [0])
    if g.chance(0.5):
        return g.op("Gather", shape, g.ints(axis), axis=0)
    return unsqueeze(g, g.op("Gather", shape, g.constant(np.array(axis, np.int64)), axis=0), [0])


def reshape_by_parts(g, x, parts):
    """A Reshape to a Concat of numbers and of sizes (tensors [1])."""
    tensors = [g.ints(p) if isinstance(p, int) else p for p in parts]
    return g.op("Reshape", x, g.op("Concat", *tensors, axis=0))
