"""Operators with small constants and huge results, or with constants that make no sense: bombs for whoever computes
constants beforehand, infers shapes, or runs what a model says."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from cases import Cases, constants, models, nodes, op

CASES = Cases()
HUGE = 2**40


def shaped(kind, *inputs, opset=17, x=(4,), more=(), outputs=("r",), **attributes):
    """An operator on constants, whose result is cast and added to an input."""
    arrays = {f"c{i}": array for i, array in enumerate(inputs) if array is not None}
    names = ["" if array is None else f"c{i}" for i, array in enumerate(inputs)]
    return nodes(op(kind, names, outputs, **attributes), *more, helper.make_node("Cast", ["r"], ["f"], to=1),
                 op("Add", ["x", "f"]), inputs=[("x", list(x))], initializers=constants(**arrays), opset=opset)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


ONE = floats(1)
for name, model in [
        # --- Fills and repetitions.
        ("ConstantOfShape of 2^40", lambda: shaped("ConstantOfShape", ints(HUGE))),
        ("ConstantOfShape of 2^62", lambda: shaped("ConstantOfShape", ints(2**62))),
        ("ConstantOfShape whose size wraps", lambda: shaped("ConstantOfShape", ints(2**32, 2**32))),
        ("ConstantOfShape of -1", lambda: shaped("ConstantOfShape", ints(-1))),
        ("ConstantOfShape of rank 65", lambda: shaped("ConstantOfShape", ints(*[1] * 65))),
        ("ConstantOfShape of rank 10^7", lambda: shaped("ConstantOfShape", np.ones(10_000_000, np.int64))),
        ("ConstantOfShape of a matrix", lambda: shaped("ConstantOfShape", np.ones((2, 2), np.int64))),
        ("ConstantOfShape of two values", lambda: shaped(
            "ConstantOfShape", ints(4), value=numpy_helper.from_array(floats(1, 2)))),
        ("Range of 10^12", lambda: shaped("Range", np.int64(0), np.int64(10**12), np.int64(1))),
        ("Range from end to end", lambda: shaped("Range", np.int64(-2**63), np.int64(2**63 - 1), np.int64(1))),
        ("Range with a step of 0", lambda: shaped("Range", np.int64(0), np.int64(4), np.int64(0))),
        ("Range to infinity", lambda: shaped("Range", np.float32(0), np.float32(np.inf), np.float32(1))),
        ("Range with a step of NaN", lambda: shaped("Range", np.float32(0), np.float32(4), np.float32(np.nan))),
        ("Range with a step of 1e-45", lambda: shaped("Range", np.float32(0), np.float32(1), np.float32(1e-45))),
        ("Tile of 2^40", lambda: shaped("Tile", ONE, ints(HUGE))),
        ("Tile of -1", lambda: shaped("Tile", ONE, ints(-1))),
        ("Tile of 2^62 times 4", lambda: shaped("Tile", floats(1, 2, 3, 4), ints(2**62))),
        ("Expand to 2^40", lambda: shaped("Expand", ONE, ints(HUGE))),
        ("Expand whose size wraps", lambda: shaped("Expand", ONE, ints(2**32, 2**32))),
        ("Expand to -5", lambda: shaped("Expand", ONE, ints(-5))),
        ("Pad of 2^40", lambda: shaped("Pad", ONE, ints(0, HUGE))),
        ("Pad of 2^63 - 1 on both sides", lambda: shaped("Pad", ONE, ints(2**63 - 1, 2**63 - 1))),
        ("Pad of -2^63", lambda: shaped("Pad", ONE, ints(-2**63, 0))),
        ("Pad by reflection of more than there is", lambda: shaped("Pad", ONE, ints(0, 1000), mode="reflect")),
        ("OneHot of 2^40", lambda: shaped("OneHot", ints(1), ints(HUGE), floats(0, 1))),
        ("OneHot of -1", lambda: shaped("OneHot", ints(1), ints(-1), floats(0, 1))),
        ("EyeLike of 2^20 x 2^20", lambda: nodes(
            op("ConstantOfShape", ["s"], ["z"]), op("EyeLike", ["z"], ["e"]), op("ReduceSum", ["e"], ["r"], keepdims=0),
            op("Add", ["x", "r"]), initializers=constants(s=ints(2**20, 2**20)))),
        ("RandomNormal of 2^40", lambda: shaped("RandomNormal", shape=[HUGE])),
        ("RandomUniform whose size wraps", lambda: shaped("RandomUniform", shape=[2**32, 2**32])),
        ("Resize by 10^9", lambda: shaped("Resize", np.ones((1, 1, 2, 2), np.float32), None, floats(1, 1, 1e9, 1e9))),
        ("Resize by NaN", lambda: shaped("Resize", np.ones((1, 1, 2, 2), np.float32), None, floats(1, 1, np.nan, 1))),
        ("Resize to -1", lambda: shaped("Resize", np.ones((1, 1, 2, 2), np.float32), None, None, ints(1, 1, -1, 2))),
        # --- Views.
        ("Reshape to what does not fit", lambda: shaped("Reshape", ONE, ints(7))),
        ("Reshape to two unknowns", lambda: shaped("Reshape", ONE, ints(-1, -1))),
        ("Reshape whose size wraps to 1", lambda: shaped("Reshape", ONE, ints(2**32, 2**32, 1))),
        ("Reshape to -7", lambda: shaped("Reshape", ONE, ints(-7))),
        ("Transpose with axes twice", lambda: shaped("Transpose", np.ones((2, 2), np.float32), perm=[0, 0])),
        ("Transpose with axis 2^62", lambda: shaped("Transpose", np.ones((2, 2), np.float32), perm=[0, 2**62])),
        ("Slice by a step of 0", lambda: shaped("Slice", ONE, ints(0), ints(1), ints(0), ints(0))),
        ("Slice by -2^63", lambda: shaped("Slice", ONE, ints(0), ints(-2**63), ints(0), ints(-2**63))),
        ("Slice of axis 99", lambda: shaped("Slice", ONE, ints(0), ints(1), ints(99))),
        ("Gather beyond the end", lambda: shaped("Gather", floats(1, 2), ints(99))),
        ("Gather at -2^63", lambda: shaped("Gather", floats(1, 2), ints(-2**63))),
        ("GatherND beyond the end", lambda: shaped("GatherND", floats(1, 2), np.array([[2**40]], np.int64))),
        ("ScatterND beyond the end", lambda: shaped("ScatterND", floats(1, 2), np.array([[99]], np.int64), ONE)),
        ("ScatterElements beyond the end", lambda: shaped("ScatterElements", floats(1, 2), ints(99), ONE)),
        ("Split into parts that do not fit", lambda: shaped("Split", floats(1, 2, 3), ints(1, 7), outputs=("r", "q"))),
        ("Split into -1", lambda: shaped("Split", floats(1, 2, 3), ints(4, -1), outputs=("r", "q"))),
        ("Squeeze of an axis of 2", lambda: shaped("Squeeze", floats(1, 2), ints(0))),
        ("Unsqueeze at 2^62", lambda: shaped("Unsqueeze", ONE, ints(2**62))),
        ("Unsqueeze at 100 axes", lambda: shaped("Unsqueeze", ONE, ints(*range(100)))),
        ("SpaceToDepth by 0", lambda: shaped("SpaceToDepth", np.ones((1, 1, 2, 2), np.float32), blocksize=0)),
        ("DepthToSpace by 2^40", lambda: shaped("DepthToSpace", np.ones((1, 4, 2, 2), np.float32), blocksize=HUGE)),
        ("Flatten at 2^62", lambda: shaped("Flatten", ONE, axis=2**62)),
        # --- Arithmetic.
        ("a division by 0", lambda: shaped("Div", ints(1, 2), ints(0, 0), x=(2,))),
        ("-2^63 by -1", lambda: shaped("Div", ints(-2**63), ints(-1), x=(1,))),
        ("-2^63 modulo -1", lambda: shaped("Mod", ints(-2**63), ints(-1), x=(1,))),
        ("a remainder by 0", lambda: shaped("Mod", ints(7), ints(0), x=(1,))),
        ("a shift by 1000", lambda: shaped("BitShift", np.array([1], np.uint32), np.array([1000], np.uint32),
                                           direction="LEFT", x=(1,))),
        ("a power of integers that is too large", lambda: shaped("Pow", ints(7), ints(2**62), x=(1,))),
        ("the absolute of -2^63", lambda: shaped("Abs", ints(-2**63), x=(1,))),
        ("a cast of NaN to int8", lambda: shaped("Cast", floats(np.nan, 1e30), to=TensorProto.INT8, x=(2,))),
        ("a cast of text to float", lambda: shaped("Cast", np.array(["1", "x"], object), to=1, x=(2,))),
        ("a cast to type 99", lambda: shaped("Cast", ONE, to=99)),
        ("TopK of 2^40", lambda: shaped("TopK", ONE, ints(HUGE), outputs=("r", "i"))),
        ("CumSum of axis 2^40", lambda: shaped("CumSum", ONE, np.int64(HUGE))),
        ("ArgMax of nothing", lambda: shaped("ArgMax", np.zeros((0,), np.float32), axis=0, x=(1,))),
        ("ReduceMax of nothing", lambda: shaped("ReduceMax", np.zeros((0, 4), np.float32), axes=[0], keepdims=0)),
        ("Einsum of 10^5 letters", lambda: shaped("Einsum", ONE, equation="a" * 100_000)),
        ("Einsum of 40 axes", lambda: shaped("Einsum", *[np.ones((2, 2), np.float32)] * 20,
                                             equation=",".join(a + b for a, b in zip("abcdefghijklmnopqrst", "ABCDEFGHIJKLMNOPQRST"))
                                             + "->abcdefghijklmnopqrstABCDEFGHIJKLMNOPQRST", x=(1,))),
        ("RegexFullMatch that backtracks for ever", lambda: shaped(
            "RegexFullMatch", np.array(["a" * 60 + "b"], object), pattern="(a+)+$", opset=20, x=(1,))),
        ("StringSplit", lambda: shaped("StringSplit", np.array(["a " * 100], object), opset=20, outputs=("q", "r"), x=(1,))),
        ("TfIdfVectorizer with n-grams of -1", lambda: shaped(
            "TfIdfVectorizer", ints(1, 2), mode="TF", min_gram_length=-1, max_gram_length=2**40, max_skip_count=2**40,
            ngram_counts=[0], ngram_indexes=[2**40], pool_int64s=[1], x=(1,))),
        # --- Windows.
        ("Conv with pads of 2^40", lambda: shaped("Conv", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 1), np.float32),
                                                  pads=[HUGE, HUGE], x=(1,))),
        ("Conv with strides of 0", lambda: shaped("Conv", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 1), np.float32),
                                                  strides=[0], x=(1,))),
        ("Conv with a dilation of 2^62", lambda: shaped("Conv", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 2), np.float32),
                                                        dilations=[2**62], x=(1,))),
        ("Conv with 0 groups", lambda: shaped("Conv", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 1), np.float32),
                                              group=0, x=(1,))),
        ("ConvTranspose with strides of 2^40", lambda: shaped(
            "ConvTranspose", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 1), np.float32), strides=[HUGE], x=(1,))),
        ("ConvTranspose to -1", lambda: shaped("ConvTranspose", np.ones((1, 1, 2), np.float32), np.ones((1, 1, 1), np.float32),
                                               output_shape=[-1], x=(1,))),
        ("MaxPool of a window of 0", lambda: shaped("MaxPool", np.ones((1, 1, 2), np.float32), kernel_shape=[0], x=(1,))),
        ("MaxPool of a window of 2^62", lambda: shaped("MaxPool", np.ones((1, 1, 2), np.float32), kernel_shape=[2**62], x=(1,))),
        ("AveragePool with pads of -5", lambda: shaped("AveragePool", np.ones((1, 1, 2), np.float32), kernel_shape=[1],
                                                       pads=[-5, -5], x=(1,))),
        ("Col2Im of 2^40", lambda: shaped("Col2Im", np.ones((1, 1, 1), np.float32), ints(HUGE, HUGE), ints(1, 1), opset=18, x=(1,))),
        ("STFT of a frame of 0", lambda: shaped("STFT", np.ones((1, 8, 1), np.float32), np.int64(0), x=(1,))),
        ("HannWindow of 2^40", lambda: shaped("HannWindow", np.int64(HUGE), x=(1,))),
        ("MelWeightMatrix of 2^20 x 2^40", lambda: shaped(
            "MelWeightMatrix", np.int64(2**20), np.int64(HUGE), np.int64(16000), np.float32(0), np.float32(8000), x=(1,))),
]:
    CASES.add(name, model)


# --- Small steps that add up.

def growing(kind, steps=60):
    """Each step doubles a constant."""
    made, name = [], "c"
    for i in range(steps):
        made.append(helper.make_node(kind, [name, "two"] if kind == "Tile" else [name, name], [f"d{i}"],
                                     name=f"step{i}", **({"axis": 0} if kind == "Concat" else {})))
        name = f"d{i}"
    return nodes(*made, op("ReduceSum", [name], ["r"], keepdims=0), op("Add", ["x", "r"]),
                 initializers=constants(c=ONE, two=ints(2)))


def product(size):
    """The product of two matrices of ones, of 2^51 multiplications and more."""
    return nodes(op("ConstantOfShape", ["s"], ["a"]), op("MatMul", ["a", "a"], ["b"]),
                 op("ReduceSum", ["b"], ["r"], keepdims=0), op("Add", ["x", "r"]), initializers=constants(s=ints(size, size)))


def counting(trips, growing_state=False):
    """A loop over constants; its state may grow in each round."""
    step = helper.make_node("Concat", ["s", "s"], ["t"], axis=0) if growing_state else helper.make_node("Neg", ["s"], ["t"])
    shape = [None] if growing_state else [1]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]), step], "body",
        [models.value("i", (), TensorProto.INT64), models.value("go_on", (), TensorProto.BOOL), models.value("s", shape)],
        [models.value("still", (), TensorProto.BOOL), models.value("t", shape)])
    return nodes(op("Loop", ["times", "yes", "c"], ["l"], body=body), op("ReduceSum", ["l"], ["r"], keepdims=0),
                 op("Add", ["x", "r"]), initializers=constants(times=np.int64(trips), yes=True, c=ONE))


for name, model in [
        ("60 Concats that double", lambda: growing("Concat")),
        ("60 Tiles that double", lambda: growing("Tile")),
        ("a product of 2^17 x 2^17", lambda: product(2**17)),
        ("a product of 2^20 x 2^20", lambda: product(2**20)),
        ("a loop of 10^15 rounds", lambda: counting(10**15)),
        ("a loop of -1 rounds", lambda: counting(-1)),
        ("a loop that doubles its state", lambda: counting(60, growing_state=True)),
        ("a chain of 10000 nodes", lambda: nodes(
            *[op("Neg", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(9_999)], op("Neg", ["v9999"]))),
        ("100000 nodes beside each other", lambda: nodes(
            *[op("Neg", ["x"], [f"v{i}"]) for i in range(99_999)], op("Neg", ["x"]))),
        ("a value with 5000 readers", lambda: nodes(
            op("Exp", ["x"], ["e"]), *[op("Add", ["e", "e" if i == 0 else f"v{i}"], [f"v{i + 1}"]) for i in range(5_000)],
            op("Neg", ["v5000"]))),
]:
    CASES.add(name, model)
