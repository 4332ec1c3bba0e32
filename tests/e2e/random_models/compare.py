"""Whether two models say the same, judged by the rounding of the original.

A first look allows each element what is around it: a share of its own size and of the largest of
its row or column, whichever of the two is smaller. What is beyond that is looked at again beside
the original under noise: its inputs, its weights and what its nodes yield, moved by less than the
last bit. An element may differ by a few times of what noise does to it, an integer or a NaN only
where noise changes it as well. A model with a rounding trick gets no noise behind its nodes: such
noise would do what a wrong rewrite does."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from graph import quiet_options
from interface import subgraphs

FIRST_LOOK = {"half": 4e-3, "single": 1e-5, "double": 1e-12}
# What a function that ends in 0 to 1 may lose of a result near 0.
FLOOR = {"half": 1e-3, "single": 2.0 ** -23, "double": 2.0 ** -52}
LAST_BIT = {"half": 2.0 ** -10, "single": 2.0 ** -22, "double": 2.0 ** -50}
NOISE_DRAWS = 12
NOISE_FACTOR = 8.0


def open_session(model, optimize=False, reuse=True):
    data = model if isinstance(model, bytes) else model.SerializeToString()
    options = quiet_options(optimize)
    options.enable_mem_reuse = reuse
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def undeclared(model):
    """The model without the sizes that its file declares of computed values: they may be wrong."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    graphs = [bare.graph]
    while graphs:
        graph = graphs.pop()
        del graph.value_info[:]
        for output in graph.output:
            output.type.tensor_type.ClearField("shape")
        graphs += [inner for node in graph.node for inner in subgraphs(node)]
    return bare


def scale_around(a):
    """Of each element the largest of its column or of its row, whichever is smaller."""
    size = np.where(np.isfinite(a), np.abs(a), 0)
    if size.ndim == 0 or size.size == 0:
        return size
    columns = size.max(axis=tuple(range(size.ndim - 1)), keepdims=True)
    if size.ndim < 3:
        return np.broadcast_to(columns, size.shape)
    channels = size.max(axis=tuple(i for i in range(size.ndim) if i != 1), keepdims=True)
    return np.minimum(columns, channels)


def suspects(a, b, precision):
    """A mask of the elements that the first look does not let pass."""
    if a.dtype.kind != "f":
        return a != b
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.where(np.isfinite(a), np.abs(a), 0)
        limit = FLOOR[precision] + FIRST_LOOK[precision] * (own + scale_around(a))
        close = np.abs(a - b) <= limit
    return ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))


class Noise:
    """The outputs of the original, run again and again with a little noise. Drawn when asked."""

    def __init__(self, model, feed, precision, behind_nodes):
        self.model, self.feed = model, feed
        self.size = LAST_BIT[precision]
        self.behind_nodes = behind_nodes
        self.runs = None

    def outputs(self, index):
        if self.runs is None:
            self.runs = [self._run(seed) for seed in range(NOISE_DRAWS)]
        return [run[index] for run in self.runs if run is not None]

    def _run(self, seed):
        random = np.random.default_rng(seed)
        size = self.size * (1 if seed % 2 else 0.25)
        try:
            session = open_session(noisy(self.model, random, size, self.behind_nodes), reuse=False)
            feed = {name: shaken(random, array, size) for name, array in self.feed.items()}
            return session.run(None, feed)
        except Exception:  # ONNX Runtime has no common base class
            return None


def shaken(random, array, size):
    if array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        moved = array * (1 + random.uniform(-size, size, array.shape))
        return np.asarray(np.where(np.isfinite(moved), moved, array)).astype(array.dtype)


def noisy(model, random, size, behind_nodes):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = list(copy.graph.initializer) + [
        a.t for node in copy.graph.node if node.op_type == "Constant" for a in node.attribute
        if a.type == onnx.AttributeProto.TENSOR]
    for tensor in tensors:
        array = numpy_helper.to_array(tensor)
        if array.dtype in (np.float32, np.float64, np.float16) and array.size > 1:
            tensor.CopyFrom(numpy_helper.from_array(shaken(random, array, size), tensor.name))
    if behind_nodes:
        shake_nodes(copy, random, size)
    return copy


def shake_nodes(model, random, size):
    """A factor next to 1 behind each node of the main graph that yields float32."""
    kinds = float_values(model)
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        for index, name in enumerate(node.output):
            if node.op_type == "Constant" or kinds.get(name) != TensorProto.FLOAT:
                continue
            raw = f"{name}|raw"
            factor = numpy_helper.from_array(
                np.float32(1 + random.uniform(-size, size)), f"{name}|factor")
            model.graph.initializer.append(factor)
            node.output[index] = raw
            nodes.append(helper.make_node("Mul", [raw, factor.name], [name]))
    held = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(held)
    del model.graph.value_info[:]


def float_values(model):
    """Element types by value name, as ONNX's inference knows them without declared values."""
    try:
        bare = onnx.shape_inference.infer_shapes(undeclared(model))
    except Exception:
        return {}
    found = list(bare.graph.value_info) + list(bare.graph.output)
    return {v.name: v.type.tensor_type.elem_type for v in found}


def excused(a, b, draws):
    """A mask of the elements whose difference noise explains."""
    if a.dtype.kind != "f":
        return sum((run != a for run in draws if run.shape == a.shape), np.zeros(a.shape, bool))
    about_to_overflow = np.finfo(a.dtype).max / 34 if a.dtype.itemsize >= 4 else np.inf
    a, b = a.astype(np.float64), b.astype(np.float64)
    moved = np.zeros(a.shape)
    broken = np.zeros(a.shape, bool)
    with np.errstate(invalid="ignore", over="ignore"):
        for run in draws:
            if run.shape != a.shape:
                continue
            run = run.astype(np.float64)
            step = np.abs(run - a)
            moved = np.fmax(moved, np.where(np.isfinite(step), step, 0))
            broken |= np.isfinite(run) != np.isfinite(a)
        # What moves as a rule in a column: a column of boxes says nothing about one of scores.
        rows = tuple(range(max(a.ndim - 1, 1))) if a.ndim > 0 else ()
        common = (np.minimum(moved.mean(axis=rows, keepdims=True),
                             np.median(moved, axis=rows, keepdims=True) * 4)
                  if a.size and rows else moved)
        near = np.abs(a - b) <= NOISE_FACTOR * np.maximum(moved, common)
        large = (np.abs(a) > about_to_overflow) & (np.abs(b) > about_to_overflow)
    return near | (broken & ~(np.isfinite(a) & np.isfinite(b))) | (
        large & (np.sign(a) == np.sign(b)))


def difference(a, b, precision, draws):
    """What is wrong with b beside a, in words; nothing if all is well. `draws()` yields the noisy
    originals, and is only called where the first look is not enough."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    wrong = suspects(a, b, precision)
    if not wrong.any():
        return None
    wrong &= ~excused(a, b, draws())
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"{int(wrong.sum())} of {wrong.size} elements of {a.dtype}{list(a.shape)}, "
            f"at {list(place)}: {a[place]!r} became {b[place]!r}")
