"""Who says what a model computes: Quotient's folding, ONNX Runtime, ONNX's reference evaluator."""
import base64
import os
import pathlib
import re
import struct
import subprocess
import warnings

import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from random_cases import DTYPES

BIN = pathlib.Path(os.environ["QUOTIENT_BIN_DIR"])
BY_NAME = {name: DTYPES[f"tensor({onnx_name})"] for name, onnx_name in (
    [("float32", "float"), ("float64", "double")] +
    [(n, n) for n in ("float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                      "uint32", "uint64")])}


class Refused(Exception):
    """A judge has no answer; the message says why."""


def model_of(case, output_types, dims_of_inputs=()):
    """The case as a model of one node. Inputs that `dims_of_inputs` has (position -> dims, None:
    unknown) are inputs of the graph, the others are initializers."""
    graph_inputs, initializers = [], []
    for i, value in enumerate(case.inputs):
        if value is None:
            continue
        if i in dims_of_inputs:
            graph_inputs.append(helper.make_tensor_value_info(
                f"x{i}", helper.np_dtype_to_tensor_dtype(value.dtype), dims_of_inputs[i]))
        else:
            initializers.append(numpy_helper.from_array(value, f"x{i}"))
    outputs = [helper.make_tensor_value_info(f"y{i}", output_types[i], None)
               for i in range(case.outputs)]
    graph = helper.make_graph([case.node()], "case", graph_inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", max(case.opset, 7))])


def output_types(case, schema):
    """Element types by the schema: those of inputs, of an attribute, or the only one there is."""
    types = []
    for i in range(case.outputs):
        formal = schema.outputs[min(i, len(schema.outputs) - 1)]
        found = None
        for k, value in enumerate(case.inputs):
            source = schema.inputs[min(k, len(schema.inputs) - 1)]
            if value is not None and source.type_str == formal.type_str:
                found = helper.np_dtype_to_tensor_dtype(value.dtype)
                break
        if found is None:
            found = case.attributes.get("to") if case.op == "Cast" else None
        if found is None and case.op == "ConstantOfShape":
            value = case.attributes.get("value")
            found = helper.np_dtype_to_tensor_dtype(value.dtype) if value is not None else 1
        if found is None:
            allowed = [c.allowed_type_strs for c in schema.type_constraints
                       if c.type_param_str == formal.type_str] or [[formal.type_str]]
            found = helper.np_dtype_to_tensor_dtype(DTYPES[allowed[0][0]])
        types.append(found)
    return types


def quotient(models):
    """What fold_models says of each model: {"error": ...} or types, nodes, constants and the model
    with its nodes written anew."""
    stream = b"".join(struct.pack("<I", len(m)) + m for m in models)
    out = subprocess.run([BIN / "fold_models"], input=stream, capture_output=True, check=True).stdout
    results = []
    for line in out.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "model":
            results.append({"types": {}, "constants": {}, "nodes": []})
        elif word == "error":
            results[-1]["error"] = rest
        elif word == "nodes":
            results[-1]["nodes"] = rest.split()
        elif word == "type":
            name, kind = rest.split(" ", 1)
            results[-1]["types"][name] = parse_type(kind)
        elif word == "written":
            results[-1]["written"] = onnx.ModelProto.FromString(base64.b64decode(rest))
        else:
            name, kind, *data = rest.split(" ")
            results[-1]["constants"][name] = parse_tensor(kind, data[0] if data else "")
    assert len(results) == len(models), "fold_models stopped early"
    return results


def operators():
    """The operators of Quotient's table."""
    return subprocess.run([BIN / "fold_models", "--operators"], capture_output=True, check=True,
                          text=True).stdout.split()


def parse_type(text):
    """"float32[2,n,?]" -> (dtype or None, dims or None); a dimension is a number or a string."""
    name, bracket, dims = re.match(r"(\w+)(\[?)(.*?)\]?$", text).groups()
    if not bracket or dims == "*":
        return BY_NAME.get(name), None
    parts = split_dims(dims)
    return BY_NAME.get(name), [int(d) if re.fullmatch(r"\d+", d) else d for d in parts]


def split_dims(text):
    """At commas that are not within parentheses, as those of "min(n,4)" are."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p]


def parse_tensor(kind, data):
    dtype, dims = parse_type(kind)
    return np.frombuffer(base64.b64decode(data), dtype).reshape(dims)


def onnx_runtime(model):
    """Outputs of a model without inputs, optimizations off."""
    widened = onnx.ModelProto()
    widened.CopyFrom(model)
    for output in widened.graph.output:  # numpy has no bfloat16 that the runtime could return
        if output.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            widened.graph.node.append(helper.make_node("Cast", [output.name], [output.name + "_"],
                                                       to=TensorProto.FLOAT))
            output.name += "_"
            output.type.tensor_type.elem_type = TensorProto.FLOAT
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(widened.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        results = session.run(None, {})
    except Exception as error:  # pybind gives a class per status
        raise Refused(str(error)) from None
    return [np.asarray(r) for r in results]


def reference(model):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(r) for r in onnx.reference.ReferenceEvaluator(model).run(None, {})]
    except Exception as error:  # NotImplementedError, and whatever numpy raises
        raise Refused(f"{type(error).__name__}: {error}") from None


TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 3e-5, DTYPES["tensor(float16)"]: 4e-3,
             DTYPES["tensor(bfloat16)"]: 3e-2}


def difference(actual, expected, dtype, looseness=1):
    """None if they are equal within rounding, else a sentence."""
    if list(actual.shape) != list(expected.shape):
        return f"shape {list(actual.shape)}, not {list(expected.shape)}"
    if dtype not in TOLERANCE:
        if actual.dtype != expected.dtype:
            return f"element type {actual.dtype}, not {expected.dtype}"
        wrong = np.flatnonzero(actual != expected)
    else:
        a, b = (np.asarray(x).astype(np.float64) for x in (actual, expected))
        with np.errstate(invalid="ignore", over="ignore"):
            finite = np.abs(b[np.isfinite(b)])
            scale = finite.max() if finite.size and finite.max() < 1e3 else 0.0
            close = np.abs(a - b) <= looseness * TOLERANCE[dtype] * (0.05 + np.abs(b) + 0.1 * scale)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(b) & close)
        wrong = np.flatnonzero(~same)
    if wrong.size == 0:
        return None
    at = int(wrong[0])
    return (f"{wrong.size} of {expected.size} elements, at {at} "
            f"{actual.reshape(-1)[at]!r}, not {expected.reshape(-1)[at]!r}")
