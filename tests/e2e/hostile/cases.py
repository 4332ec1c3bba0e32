"""What a case is, and pieces of models and of protobuf messages from which cases are made."""

import dataclasses
import pathlib
import sys
from typing import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import models  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], bytes]


class Cases(list):
    """A table of cases, in the order in which they are added."""

    def add(self, name, build):
        """`build` is bytes, a model, or a function that returns one of them."""
        def content():
            made = build() if callable(build) else build
            return made if isinstance(made, bytes) else made.SerializeToString()
        self.append(Case(name, content))

    def case(self, name):
        """Decorates a function that returns bytes or a model."""
        def register(build):
            self.add(name, build)
            return build
        return register


# --- Protobuf, by hand: the library refuses to write most of what is wanted here.

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)


def varint(number):
    if 0 <= number <= 127:  # As most are.
        return bytes([number])
    out = bytearray()
    number &= 2**64 - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def tag(field, wire_type):
    return varint(field << 3 | wire_type)


def number(field, value):
    return tag(field, VARINT) + varint(value)


def message(field, *content):
    """A message or a text."""
    content = b"".join(c.encode() if isinstance(c, str) else c for c in content)
    return tag(field, LENGTH) + varint(len(content)) + content


# Numbers of fields in ONNX's messages.
class Model:
    IR, GRAPH, OPSET, METADATA, TRAINING, FUNCTION = 1, 7, 8, 14, 20, 25


class Graph:
    NODE, NAME, INITIALIZER, INPUT, OUTPUT, VALUE_INFO, QUANTIZATION, SPARSE = 1, 2, 5, 11, 12, 13, 14, 15


class Node:
    INPUT, OUTPUT, NAME, OP, ATTRIBUTE, DOMAIN = 1, 2, 3, 4, 5, 7


class Attribute:
    NAME, I, GRAPH, INTS, TYPE = 1, 3, 6, 8, 20


class Tensor:
    DIMS, TYPE, NAME, RAW, LOCATION = 1, 2, 8, 9, 14


OPSET_17 = message(Model.OPSET, message(1, ""), number(2, 17))


def node(op, inputs, outputs, *more):
    return message(Graph.NODE, *[message(Node.INPUT, i) for i in inputs],
                   *[message(Node.OUTPUT, o) for o in outputs], message(Node.OP, op), *more)


def value_of_shape(field, name, shape):
    """A value info of floats; the shape is a message's content."""
    return message(field, message(1, name), message(2, message(1, number(1, 1), message(2, shape))))


def float_value(field, name, *dims):
    return value_of_shape(field, name, b"".join(message(1, number(1, dim)) for dim in dims))


X = float_value(Graph.INPUT, "x", 4)
Y = float_value(Graph.OUTPUT, "y", 4)


def file(*graph, around=b""):
    """A model of these fields of a graph, and fields of the model around it."""
    return number(Model.IR, 8) + OPSET_17 + around + message(Model.GRAPH, message(Graph.NAME, "g"), *graph)


def relu_and(*graph, around=b""):
    """A model that is in order but for these fields."""
    return file(node("Relu", ["x"], ["y"]), *graph, X, Y, around=around)


# --- Models by ONNX's own helpers.

def raw_tensor(dims, raw, kind=TensorProto.FLOAT, name="c"):
    """A tensor whose bytes need not fit its shape."""
    tensor = TensorProto(name=name, data_type=kind, raw_data=raw)
    tensor.dims.extend(dims)
    return tensor


def add_constant(tensor, opset=17):
    """A node that reads a constant called c."""
    return models.model([helper.make_node("Add", ["x", "c"], ["y"], name="the_add")],
                        [models.value("x", [4])], [models.value("y", [4])], [tensor], opset)


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def nodes(*made, initializers=(), inputs=(("x", [4]),), outputs=(("y", None),), opset=17, functions=()):
    """A model of these nodes."""
    model = models.model(list(made), [models.value(*i) for i in inputs], [models.value(*o) for o in outputs],
                         initializers, opset)
    model.functions.extend(functions)
    return model


def op(kind, inputs, outputs=("y",), **attributes):
    return helper.make_node(kind, list(inputs), list(outputs), name=f"the_{kind.lower()}", **attributes)
