"""Bytes that are no model, and messages that are bombs on the wire."""

import base64
import gzip
import io
import tarfile
import zipfile

import numpy as np

from cases import (END, FIXED32, FIXED64, LENGTH, START, VARINT, Attribute, Cases, Graph, Model, Node, Tensor,
                   X, Y, file, message, models, node, number, relu_and, tag, value_of_shape, varint)

CASES = Cases()


def archive(kind):
    content = models.conv_bn_relu(1).SerializeToString()
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr(zipfile.ZipInfo("../../m.onnx"), bytes(50_000_000))
    elif kind == "tar":
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo("../../m.onnx")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


# --- Files of other kinds.

for name, content in {
        "empty file": b"",
        "zeros": bytes(1000),
        "ones": b"\xff" * 1000,
        "text": b"hello, world\n" * 100,
        "html": b"<!DOCTYPE html><html><body><h1>404</h1></body></html>\n",
        "json": b'{"irVersion": "8", "graph": {"node": []}}',
        "elf": b"\x7fELF\x02\x01\x01" + bytes(200),
        "png": base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
        "pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
        "git lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n",
        "xml of billion laughs": b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>',
}.items():
    CASES.add(name, content)
CASES.add("gzip bomb", lambda: gzip.compress(bytes(50_000_000), mtime=0))
CASES.add("zip bomb", lambda: archive("zip"))
CASES.add("tar with a climbing name", lambda: archive("tar"))
for seed in range(3):
    CASES.add(f"random bytes {seed}", lambda seed=seed: np.random.default_rng(seed).bytes(5000))
for size in (1, 7, 100, 1000, 2000, 6000):
    CASES.add(f"cut at {size}", lambda size=size: models.conv_bn_relu().SerializeToString()[:size])

# --- What no message has.

for name, content in {
        "a tag without a value": tag(Model.GRAPH, LENGTH),
        "a varint without an end": tag(Model.IR, VARINT) + b"\xff" * 9,
        "a varint of eleven bytes": tag(Model.IR, VARINT) + b"\xff" * 10 + b"\x01",
        "a varint beyond 64 bits": tag(Model.IR, VARINT) + b"\xff" * 9 + b"\x7f",
        "a tag of eleven bytes": b"\xba" + b"\x80" * 9 + b"\x00",
        "field number 0": tag(0, VARINT) + b"\x01",
        "a field number beyond 29 bits": varint((1 << 32) | VARINT) + b"\x01",
        "wire type 6": tag(Model.IR, 6) + b"\x01",
        "wire type 7": tag(Model.IR, 7) + b"\x01",
        "a group without an end": tag(Model.IR, START),
        "an end without a group": tag(Model.IR, END),
        "a group that another one ends": tag(50, START) + tag(51, END),
        "groups nested 100000 times": tag(50, START) * 100_000 + tag(50, END) * 100_000,
        "a length beyond the file": tag(Model.GRAPH, LENGTH) + varint(1 << 20) + b"abc",
        "a length of 2^31": tag(Model.GRAPH, LENGTH) + varint(1 << 31) + b"abc",
        "a length of 2^63": tag(Model.GRAPH, LENGTH) + varint(1 << 63) + b"abc",
        "a length of 2^64 - 1": tag(Model.GRAPH, LENGTH) + varint(-1) + b"abc",
        "an inner length beyond the outer one": message(Model.GRAPH, tag(Graph.NODE, LENGTH) + varint(1000) + b"abc"),
        "a graph that is a number": number(Model.GRAPH, 5),
        "a graph of 8 bytes of fixed width": tag(Model.GRAPH, FIXED64) + bytes(8),
        "half a fixed number": tag(40, FIXED32) + b"\x01\x02",
        "dims that are cut": file(message(Graph.INITIALIZER, message(Tensor.DIMS, b"\x80"))),
        "raw bytes that are a number": relu_and(message(Graph.INITIALIZER, number(Tensor.DIMS, 1), number(Tensor.TYPE, 1),
                                                        message(Tensor.NAME, "c"), number(Tensor.RAW, 5))),
}.items():
    CASES.add(name, content)

# --- Bombs: few bytes that take much memory, or much time.

MANY = 1_000_000
for name, content in [
        ("10^7 unknown fields", lambda: relu_and(around=number(99, 1) * (10 * MANY))),
        ("10^6 empty nodes", lambda: file(message(Graph.NODE) * MANY)),
        ("10^6 nodes in a row", lambda: file(node("Relu", ["x"], ["x"]) * MANY, X)),
        ("10^6 empty initializers", lambda: relu_and(message(Graph.INITIALIZER) * MANY)),
        ("10^6 empty attributes", lambda: file(node("Relu", ["x"], ["y"], message(Node.ATTRIBUTE) * MANY), X, Y)),
        ("10^6 empty functions", lambda: relu_and(around=message(Model.FUNCTION) * MANY)),
        ("10^6 opset imports", lambda: relu_and(around=message(Model.OPSET) * MANY)),
        ("10^6 sparse initializers", lambda: relu_and(message(Graph.SPARSE) * MANY)),
        ("10^6 empty inputs", lambda: relu_and(message(Graph.INPUT) * MANY)),
        ("10^6 empty outputs", lambda: relu_and(message(Graph.OUTPUT) * MANY)),
        ("10^6 value infos", lambda: relu_and(message(Graph.VALUE_INFO) * MANY)),
        ("10^6 quantization annotations", lambda: relu_and(message(Graph.QUANTIZATION) * MANY)),
        ("10^6 metadata entries", lambda: relu_and(around=message(Model.METADATA) * MANY)),
        ("10^6 training graphs", lambda: relu_and(around=message(Model.TRAINING) * MANY)),
        ("10^7 inputs of a node", lambda: file(node("Sum", [], ["y"], message(Node.INPUT) * (10 * MANY)), X, Y)),
        ("10^6 outputs of a node", lambda: file(node("Split", ["x"], ["y"], message(Node.OUTPUT) * MANY), X, Y)),
        ("an input of 10^6 dimensions", lambda: relu_and(value_of_shape(Graph.INPUT, "z", message(1, number(1, 1)) * MANY))),
        ("10^7 packed dims", lambda: relu_and(message(Graph.INITIALIZER, message(Tensor.DIMS, b"\x01" * (10 * MANY)),
                                                      number(Tensor.TYPE, 1), message(Tensor.NAME, "c")))),
        ("10^7 packed ints", lambda: file(node("Relu", ["x"], ["y"], message(
            Node.ATTRIBUTE, message(Attribute.NAME, "axes"), message(Attribute.INTS, b"\x01" * (10 * MANY)))), X, Y)),
        ("a graph in 10^6 pieces", lambda: relu_and() + message(Model.GRAPH) * MANY),
        ("a graph name of 64 MiB", lambda: relu_and(message(Graph.NAME, b"n" * (64 << 20)))),
        ("a doc string of 64 MiB", lambda: relu_and(around=message(6, b"n" * (64 << 20)))),
        ("an unknown field of 64 MiB", lambda: relu_and(around=message(99, b"n" * (64 << 20)))),
        ("messages nested 1000 times", lambda: nested(1000)),
        ("messages nested 19999 times", lambda: nested(19_999)),
]:
    CASES.add(name, content)


def nested(depth):
    """Nodes with attributes with graphs with nodes ..., without anything else. The last field that is wrapped around the
    others, a node as the first one, is that of the model's graph."""
    assert depth % 3 == 1
    content = b""
    for level in range(depth):
        content = message((Graph.NODE, Attribute.GRAPH, Node.ATTRIBUTE)[level % 3], content)
    return relu_and(content)
