#!/usr/bin/env python3
"""Writes node_cases.txt: the ONNX project's own test cases of the operators that Quotient evaluates.

    python3 tests/data/ops/make_cases.py > tests/data/ops/node_cases.txt

Needs the Python package onnx (and numpy, which it brings). The cases come from onnx.backend.test
(Apache-2.0, https://github.com/onnx/onnx), each operator in its newest opset; their values were
computed by that project's reference code. A case is a few lines of text:

    case NAME
    y0 = Operator(x0, _, x1) {attribute=value}
    attr NAME float32[1] BASE64        an attribute that is a tensor
    tensor x0 float32[2,3] BASE64      an input or an expected output, raw little-endian bytes

Left out: tensors of types that are not evaluated (strings, float8, 4-bit integers), training modes,
all outputs but the first (of Split all stay), what SKIPPED lists, and cases of more than MAX_BYTES.
"""
import base64
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

MAX_BYTES = 6000
LARGE = {"test_erf", "test_mish"}  # the only cases of their operators

OPERATORS = set("""
    Conv ConvTranspose MatMul Gemm Add Sub Mul Div Pow Max Min Mod Neg Abs Sqrt Reciprocal Exp Log Erf Sin Cos Floor
    Ceil Relu LeakyRelu Sigmoid Tanh Clip HardSigmoid HardSwish Gelu Softmax LogSoftmax LayerNormalization
    BatchNormalization InstanceNormalization MaxPool AveragePool GlobalAveragePool ReduceMean ReduceSum ReduceMax
    Equal Less LessOrEqual Greater GreaterOrEqual Not And Or IsNaN Where Concat Split Slice Pad Expand Tile Trilu
    Transpose Reshape Flatten Squeeze Unsqueeze Identity Dropout Cast CastLike Gather GatherElements GatherND
    ScatterND ConstantOfShape Range Shape Size CumSum Resize Einsum STFT
    Sign Round IsInf Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Softplus Softsign Mish Elu Celu Selu
    ThresholdedRelu Swish PRelu Sum Mean Xor GlobalMaxPool RMSNormalization GroupNormalization ReduceMin ReduceProd
    ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp ArgMax ArgMin QuantizeLinear DequantizeLinear
    Attention RotaryEmbedding
""".split())

TYPES = {
    TensorProto.FLOAT: "float32", TensorProto.UINT8: "uint8", TensorProto.INT8: "int8", TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16", TensorProto.INT32: "int32", TensorProto.INT64: "int64", TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "float16", TensorProto.DOUBLE: "float64", TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64", TensorProto.BFLOAT16: "bfloat16",
}

# Cases that we do not want to agree with, or whose attributes make a node opaque.
SKIPPED = {
    "test_resize_downsample_scales_linear_align_corners":
        "takes scale * length for length_resized, unlike ONNX's text and ONNX Runtime",
    "test_resize_downsample_scales_cubic_align_corners": "as the one before",
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "expects values rounded to four digits",
}


class NotACase(Exception):
    """The case is none that the harness can run."""


def is_opaque(node):
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if attributes.get("training_mode", 0) or (node.op_type == "Dropout" and len(node.input) > 2):
        return True
    if attributes.get("block_size", 0) or attributes.get("precision", 0):
        return True
    if node.op_type == "Attention":
        caches = any(node.input[4:]) or any(node.output[1:])
        windows = any(attributes.get(f"{side}_window_size", -1) != -1 for side in ("left", "right"))
        return caches or windows or attributes.get("softcap", 0.0)
    if node.op_type == "Einsum":
        equation = attributes["equation"].decode()
        return len(node.input) != 2 or "." in equation
    if node.op_type == "Resize":
        return (attributes.get("antialias", 0)
                or (attributes.get("exclude_outside", 0)
                    and attributes.get("mode", b"nearest") != b"cubic")
                or attributes.get("coordinate_transformation_mode") == b"tf_half_pixel_for_nn")
    return False


def tensor_type(elem_type, array):
    if elem_type not in TYPES:
        raise NotACase
    return f"{TYPES[elem_type]}[{','.join(map(str, array.shape))}]"


def encode(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def number(value):
    text = repr(float(value))
    return text if any(c in text for c in ".einf") else text + ".0"


def attribute_text(attribute):
    value = helper.get_attribute_value(attribute)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    if isinstance(value, list) and value and isinstance(value[0], float):
        return f"[{','.join(map(number, value))}]"
    if isinstance(value, list) and (not value or isinstance(value[0], int)):
        return f"[{','.join(map(str, value))}]"
    raise NotACase


def case_lines(case):
    graph = case.model.graph
    node = graph.node[0]
    if is_opaque(node) or case.name in SKIPPED or len(case.data_sets) != 1:
        raise NotACase
    if node.op_type != "Split":
        del node.output[1:]
    lines = [f"case {case.name}"]
    tensors = []
    names = {"": "_"}
    size = 0
    for prefix, values, arrays in (("x", graph.input, case.data_sets[0][0]), ("y", graph.output, case.data_sets[0][1])):
        for i, (value, array) in enumerate(zip(values, arrays)):
            if isinstance(array, TensorProto):
                array = numpy_helper.to_array(array)
            if not value.type.HasField("tensor_type") or not isinstance(array, (np.ndarray, np.generic)):
                raise NotACase
            if prefix == "y" and value.name not in node.output:
                continue
            names[value.name] = f"{prefix}{i}"
            array = np.asarray(array)
            size += array.nbytes
            tensors.append(f"tensor {prefix}{i} {tensor_type(value.type.tensor_type.elem_type, array)} {encode(array)}")
    if size > MAX_BYTES and case.name not in LARGE:
        raise NotACase
    attributes = []
    for attribute in sorted(node.attribute, key=lambda a: a.name):
        if attribute.type == onnx.AttributeProto.TENSOR:
            array = numpy_helper.to_array(attribute.t)
            tensors.append(f"attr {attribute.name} {tensor_type(attribute.t.data_type, array)} {encode(array)}")
        else:
            attributes.append(f"{attribute.name}={attribute_text(attribute)}")
    outputs = [names[o] for o in node.output]
    left = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    inputs = ", ".join(names[i] for i in node.input)
    right = f" {{{', '.join(attributes)}}}" if attributes else ""
    return lines + [f"{left} = {node.op_type}({inputs}){right}"] + tensors


def main():
    print(f"# Made by tests/data/ops/make_cases.py from onnx {onnx.__version__} (Apache-2.0). Do not edit.")
    count = 0
    for case in sorted(load_model_tests(kind="node"), key=lambda c: c.name):
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type not in OPERATORS:
            continue
        try:
            print("\n".join(case_lines(case)))
            count += 1
        except NotACase:
            pass
    print(f"{count} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
