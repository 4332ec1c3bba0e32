"""A small network, and wrong variants of it: each has one fault of the kind that converters, simplifiers and
people make."""

import numpy as np
from onnx import TensorProto, helper

import models

CHANNELS = 8
FEATURES = 16
ROWS = 1000


class Builder:
    """Builds the network with one fault, or with none.

    `faults` maps the name of each fault to the first value that is wrong with it, and to what else is to be
    said of it. One of the two is None.
    """

    def __init__(self, fault=None):
        self.fault = fault
        self.faults = {}
        self.random = np.random.default_rng(3)
        self.nodes, self.weights = [], []

    def pick(self, fault, right, wrong, shown_at=None, says=None):
        self.faults[fault] = (shown_at, says)
        return wrong if self.fault == fault else right

    def weight(self, name, array):
        self.weights.append(models.tensor(name, np.asarray(array)))
        return name

    def floats(self, name, *shape):
        return self.weight(name, self.random.standard_normal(shape).astype(np.float32) * 0.3)

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}_node", **attributes))
        return output

    def image_part(self):
        kernel = self.random.standard_normal((CHANNELS, 3, 3, 3)).astype(np.float32) * 0.3
        kernel[2, 1, 0, 2] *= self.pick("one weight is doubled", 1, 2, "conv")
        kernel = self.pick("a kernel is turned over", kernel, kernel[:, :, ::-1], "conv")
        bias = self.random.standard_normal(CHANNELS).astype(np.float32)
        bias[3] *= self.pick("a bias has the wrong sign", 1, -1, "conv")
        self.weight("kernel", np.ascontiguousarray(kernel))
        self.weight("bias", bias)
        pads = self.pick("pads are at the other end", [0, 0, 1, 1], [1, 1, 0, 0], "conv")
        strides = self.pick("strides are exchanged", [2, 1], [1, 2], "conv")
        self.node("Conv", ["image", "kernel", "bias"], "conv", pads=pads, strides=strides)
        parts = [self.floats(name, CHANNELS) for name in ("scale", "shift")]
        self.weight("mean", np.full(CHANNELS, 0.1, np.float32))
        self.weight("variance", np.full(CHANNELS, 0.01, np.float32))
        self.node("BatchNormalization", ["conv", *parts, "mean", "variance"], "norm",
                  epsilon=self.pick("an epsilon is the usual one", 1e-3, 1e-5, "norm"))
        slope = self.pick("a slope is the usual one", 0.2, 0.01, "act")
        slope = self.pick("an activation is missing", slope, 1.0, "act")
        self.node("LeakyRelu", ["norm"], "act", alpha=slope)
        self.node("AveragePool", ["act"], "pool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2],
                  count_include_pad=self.pick("padding counts in an average", 0, 1, "pool"))
        self.weight("axes", np.array([2, 3], np.int64))
        self.node(self.pick("a mean became a sum", "ReduceMean", "ReduceSum", "features"),
                  ["pool", "axes"], "features", keepdims=0)
        lowest, highest = self.weight("lowest", np.float32(-6)), self.weight(
            "highest", np.float32(self.pick("a bound is too low", 6, 0.5, "clipped")))
        self.node("Clip", ["features", lowest, highest], "clipped")

    def text_part(self):
        first, second = self.pick("a table has two rows exchanged", (417, 418), (418, 417), "embedded")
        table = self.random.standard_normal((ROWS, FEATURES)).astype(np.float32)
        table[[417, 418]] = table[[first, second]]
        self.weight("table", table)
        self.node("Gather", ["table", "ids"], "embedded")
        self.floats("gamma", FEATURES)
        self.node("LayerNormalization", ["embedded", "gamma"], "normed",
                  axis=self.pick("a norm is over too much", -1, -2, "normed"),
                  epsilon=self.pick("an epsilon is far too large", 1e-5, 1e-2, "normed"))
        for name in ("query", "key", "value"):
            matrix = self.floats(f"{name}_weight", FEATURES, FEATURES)
            self.node("MatMul", ["normed", matrix], name)
        rows, columns = self.pick("queries and keys are exchanged", ("query", "key"), ("key", "query"), "turned")
        self.node("Transpose", [columns], "turned", perm=[0, 2, 1])
        self.node("MatMul", [rows, "turned"], "scores")
        self.weight("root", np.float32(self.pick("a scale is that of another width", 0.25, 0.3, "scaled")))
        self.node("Mul", ["scores", "root"], "scaled")
        self.weight("low", np.float32(-1e9))
        self.node("Where", self.pick("a mask is turned over", ["mask", "scaled", "low"], ["mask", "low", "scaled"],
                                     "masked"), "masked")
        self.node("Softmax", ["masked"], "weights",
                  axis=self.pick("a softmax is over another axis", -1, 1, "weights"))
        self.node("MatMul", ["weights", "value"], "mixed")
        self.node(self.pick("a sum became a difference", "Add", "Sub", "residual"), ["embedded", "mixed"], "residual")
        self.gelu()
        start, end = self.pick("a slice begins one too late", (0, 4), (1, 5), "cut")
        bounds = [self.weight("start", np.array([start], np.int64)), self.weight("end", np.array([end], np.int64))]
        self.node("Slice", ["gelu", *bounds, self.weight("last", np.array([2], np.int64))], "cut")
        shape = self.pick("a batch is taken for one", [-1, 20], [1, -1], says="it does not take these dims")
        self.node("Reshape", ["cut", self.weight("flat", np.array(shape, np.int64))], "reshaped")

    def gelu(self):
        self.weight("half", np.float32(0.5))
        self.weight("one", np.float32(1))
        if self.pick("a function is an approximation", True, False, "plus"):
            self.weight("sqrt2", np.float32(2 ** 0.5))
            self.node("Div", ["residual", "sqrt2"], "divided")
            curve = self.node("Erf", ["divided"], "curve")
        else:
            self.weight("cubic", np.float32(0.044715))
            self.weight("factor", np.float32((2 / np.pi) ** 0.5))
            self.node("Mul", ["residual", "residual"], "square")
            self.node("Mul", ["square", "residual"], "cube")
            self.node("Mul", ["cube", "cubic"], "small")
            self.node("Add", ["residual", "small"], "inner")
            self.node("Mul", ["inner", "factor"], "inside")
            curve = self.node("Tanh", ["inside"], "bend")
        self.node("Add", [curve, "one"], "plus")
        self.node("Mul", ["residual", "plus"], "double")
        self.node("Mul", ["double", "half"], "gelu")

    def numbers_part(self):
        """What shows only beyond usual numbers and sizes."""
        self.weight("zero", np.float32(0))
        if self.pick("a guard against NaN is missing", True, False, "shifted"):
            self.node("IsNaN", ["extra"], "is_nan")
            self.node("Where", ["is_nan", "zero", "extra"], "guarded")
        else:
            self.node("Identity", ["extra"], "guarded")
        self.weight("hundred", np.array([100], np.int64))
        self.node("Shape", ["extra"], "length")
        self.node(self.pick("a size counts as large one element too late", "GreaterOrEqual", "Greater", "shifted"),
                  ["length", "hundred"], "is_long")
        self.node("Cast", ["is_long"], "longer", to=TensorProto.FLOAT)
        self.node("Add", ["guarded", "longer"], "shifted")
        if self.pick("a magnitude is the root of a square", True, False, "more"):
            self.node("Abs", ["shifted"], "more")
        else:
            self.node("Mul", ["shifted", "shifted"], "squared")
            self.node("Sqrt", ["squared"], "more")
        self.weight("most", np.int64(self.pick("a bound of integers is larger", 5000, 6000, "least")))
        self.node("Min", ["count", "most"], "least")
        if self.pick("integers have 32 bits", False, True, "counted"):
            self.node("Cast", ["least"], "short", to=TensorProto.INT32)
            self.node("Cast", ["short"], "counted", to=TensorProto.INT64)
        else:
            self.node("Identity", ["least"], "counted")

    def head(self):
        order = self.pick("two parts are joined in another order", ["clipped", "reshaped"],
                          ["reshaped", "clipped"], "joined")
        self.node("Concat", order, "joined", axis=1)
        self.floats("last_weight", CHANNELS + 20, 5)
        self.floats("last_bias", 5)
        self.node("Gemm", ["joined", "last_weight", "last_bias"], "logits",
                  alpha=self.pick("a factor is missing", 0.5, 1.0, "logits"))
        if self.pick("numbers go through float16", False, True, "y"):
            self.node("Cast", ["logits"], "narrow", to=TensorProto.FLOAT16)
            self.node("Cast", ["narrow"], "y", to=TensorProto.FLOAT)
        else:
            self.node("Identity", ["logits"], "y")
        self.node(self.pick("the largest became the smallest", "ArgMax", "ArgMin", "best"), ["logits"], "best",
                  axis=1, keepdims=0)

    def interface(self):
        batch = self.pick("the batch is fixed", "N", 1, says="should be float32[N,3,9,10]")
        image = self.pick("an input has another name", "image", "picture", says="it has no input 'image'")
        if image != "image":
            for node in self.nodes:
                node.input[:] = [image if name == "image" else name for name in node.input]
        length = self.pick("a length is open no more", "L", 5, says="should be float32[L]")
        inputs = [models.value(image, (batch, 3, 9, 10)),
                  models.value("ids", (batch, 5), TensorProto.INT64),
                  models.value("mask", (batch, 1, 5), TensorProto.BOOL),
                  models.value("extra", (length,)),
                  models.value("count", ("C",), TensorProto.INT64)]
        outputs = [models.value("y", ("N", 5)), models.value("best", ("N",), TensorProto.INT64),
                   models.value("counted", ("C",), TensorProto.INT64), models.value("more", ("L",))]
        if self.pick("an output is missing", False, True, says="it has no output 'more'"):
            outputs.pop()
        if self.pick("outputs are in another order", False, True, says="its outputs are in the order 'best', 'y'"):
            outputs[0], outputs[1] = outputs[1], outputs[0]
        return inputs, outputs

    def build(self):
        self.image_part()
        self.text_part()
        self.numbers_part()
        self.head()
        inputs, outputs = self.interface()
        return models.model(self.nodes, inputs, outputs, self.weights, opset=18)
