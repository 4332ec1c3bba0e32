"""Constants whose shape, type and bytes do not belong together, or are too large."""

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from cases import (Cases, Graph, Tensor, X, Y, add_constant, constants, file, message, models, node, nodes, number, op,
                   raw_tensor, relu_and)

CASES = Cases()

# --- Shapes: products that wrap around, and numbers that are none.

for name, dims, raw in [
        ("2^32 x 2^32", [2**32, 2**32], b"1234"),
        ("2^31 x 2^31 x 4, which wraps to 0", [2**31, 2**31, 4], b""),
        ("2^62 x 4, which wraps to 0", [2**62, 4], b""),
        ("2^40", [2**40], b"1234"),
        ("2^40 + 1", [2**40 + 1], b"1234"),
        ("2^63 - 1", [2**63 - 1], b"1234"),
        ("2^40 x 0", [2**40, 0], b""),
        ("2^62 x 0", [2**62, 0], b""),
        ("-1", [-1], b"1234"),
        ("-4 x -1", [-4, -1], b"1" * 16),
        ("-2^63", [-2**63], b"1234"),
        ("rank 64", [1] * 64, b"1234"),
        ("rank 65", [1] * 65, b"1234"),
        ("rank 100000", [1] * 100_000, b"1234"),
        ("too few bytes", [4], b"1234"),
        ("too many bytes", [1], b"12345678"),
        ("one byte too many", [4], b"1" * 17),
        ("no bytes", [4], b""),
        ("bytes of nothing", [0], b"1234"),
        ("a scalar without bytes", [], b""),
]:
    CASES.add(f"constant of {name}", add_constant(raw_tensor(dims, raw)))

# --- Types.

for kind in (0, 99, -1, 2**31 - 1):
    CASES.add(f"constant of type {kind}",
              lambda kind=kind: file(node("Add", ["x", "c"], ["y"]), X, Y,
                                     message(Graph.INITIALIZER, number(Tensor.DIMS, 1), number(Tensor.TYPE, kind),
                                             message(Tensor.NAME, "c"), message(Tensor.RAW, b"1234"))))

for name, kind, dims, raw in [
        ("strings with raw bytes", TensorProto.STRING, [4], b"1234"),
        ("bools of 7", TensorProto.BOOL, [4], b"\x07\x00\x01\xff"),
        ("int4, half a byte short", TensorProto.INT4, [3], b"1"),
        ("int4, three in two bytes", TensorProto.INT4, [3], b"11"),
        ("int4, a byte too many", TensorProto.INT4, [3], b"111"),
        ("uint4 as bytes", TensorProto.UINT4, [4], b"1111"),
        ("float8 as float", TensorProto.FLOAT8E4M3FN, [2], b"1" * 8),
        ("float8", TensorProto.FLOAT8E5M2FNUZ, [4], b"1111"),
        ("float4, one element short", TensorProto.FLOAT4E2M1, [5], b"11"),
        ("bfloat16, half", TensorProto.BFLOAT16, [2], b"12"),
        ("complex128, half", TensorProto.COMPLEX128, [2], b"1" * 16),
        ("int2, one byte short", 26, [5], b"1"),
]:
    CASES.add(f"constant of {name}", add_constant(raw_tensor(dims, raw, kind)))


def typed(kind=TensorProto.FLOAT, dims=(4,), raw=None, **fields):
    """A tensor by the fields for typed elements, and perhaps raw bytes as well."""
    tensor = TensorProto(name="c", data_type=kind, raw_data=raw, **fields)
    tensor.dims.extend(dims)
    return add_constant(tensor)


for name, model in [
        ("raw bytes and floats", lambda: typed(raw=b"1" * 16, float_data=[1] * 4)),
        ("floats and ints", lambda: typed(float_data=[1] * 4, int32_data=[1] * 4)),
        ("three floats of four", lambda: typed(float_data=[1] * 3)),
        ("floats in the field for ints", lambda: typed(int32_data=[1] * 4)),
        ("float16 beyond 16 bits", lambda: typed(TensorProto.FLOAT16, int32_data=[1 << 20, -1, 0, 1])),
        ("int8 beyond 8 bits", lambda: typed(TensorProto.INT8, int32_data=[1 << 20, -1000, 0, 1])),
        ("bool beyond 1", lambda: typed(TensorProto.BOOL, int32_data=[2, -1, 0, 1])),
        ("int4 in whole numbers", lambda: typed(TensorProto.INT4, int32_data=[1] * 4)),
        ("strings that are no text", lambda: typed(TensorProto.STRING, string_data=[b"\xff", b"\0", b"", b"a"])),
        ("three strings of four", lambda: typed(TensorProto.STRING, string_data=[b"a"] * 3)),
        ("a segment", lambda: typed(raw=b"1" * 16, segment=TensorProto.Segment(begin=0, end=2**62))),
        ("NaN and infinities", lambda: add_constant(numpy_helper.from_array(
            np.array([np.nan, np.inf, -np.inf, 1e-45], np.float32), "c"))),
        ("no name", lambda: add_constant(raw_tensor([4], b"1" * 16, name=""))),
]:
    CASES.add(f"constant of {name}", model)
CASES.add("constant in location 7", relu_and(message(
    Graph.INITIALIZER, number(Tensor.DIMS, 4), number(Tensor.TYPE, 1), message(Tensor.NAME, "c"),
    message(Tensor.RAW, b"1" * 16), number(Tensor.LOCATION, 7))))


# --- Sparse tensors, and what is said about quantization.

def sparse(indices, values=(1.0, 2.0), dims=(4,), kind=np.int64):
    value = numpy_helper.from_array(np.array(values, np.float32), "c")
    index = numpy_helper.from_array(np.array(indices, kind), "c_index")
    model = models.model([helper.make_node("Add", ["x", "c"], ["y"], name="the_add")], [models.value("x", [4])],
                         [models.value("y", [4])])
    model.graph.sparse_initializer.append(SparseTensorProto(values=value, indices=index, dims=dims))
    return model


for name, model in [
        ("sparse constant", lambda: sparse([0, 2])),
        ("sparse constant with an index beyond its shape", lambda: sparse([0, 4])),
        ("sparse constant with a negative index", lambda: sparse([-1, 2])),
        ("sparse constant with equal indices", lambda: sparse([2, 2])),
        ("sparse constant out of order", lambda: sparse([2, 0])),
        ("sparse constant with too few indices", lambda: sparse([1])),
        ("sparse constant with indices of a wrong rank", lambda: sparse([[0, 0, 0], [1, 0, 0]])),
        ("sparse constant with indices of floats", lambda: sparse([0, 1], kind=np.float32)),
        ("sparse constant of 2^40 elements", lambda: sparse([0, 2], dims=(2**40,))),
        ("sparse constant whose size wraps", lambda: sparse([0, 2], dims=(2**32, 2**32))),
        ("sparse constant of a negative size", lambda: sparse([0, 2], dims=(-4,))),
]:
    CASES.add(name, model)


def quantized(scale, zero, *, axis=None, kind="DequantizeLinear", x=np.arange(4, dtype=np.int8)):
    made = {"x_scale": np.asarray(scale, np.float32), "x_zero": zero, "c": x}
    more = {} if axis is None else {"axis": axis}
    return nodes(op(kind, ["c", "x_scale", "x_zero"], ["d"], **more), op("Add", ["x", "d"]),
                 initializers=constants(**made))


for name, model in [
        ("a scale of 0", lambda: quantized(0, np.int8(0))),
        ("a scale of NaN", lambda: quantized(np.nan, np.int8(0))),
        ("a scale per channel of an axis beyond the rank", lambda: quantized([1] * 4, np.zeros(4, np.int8), axis=7)),
        ("a scale for more channels than there are", lambda: quantized([1] * 9, np.zeros(9, np.int8), axis=0)),
        ("a zero point of another type", lambda: quantized(1, np.uint8(0))),
        ("a zero point of another shape", lambda: quantized([1] * 4, np.zeros(3, np.int8), axis=0)),
        ("floats to dequantize", lambda: quantized(1, np.int8(0), x=np.ones(4, np.float32))),
]:
    CASES.add(f"quantization with {name}", model)


@CASES.case("quantization annotation of a value that is not there")
def annotation():
    model = add_constant(raw_tensor([4], b"1" * 16))
    annotated = model.graph.quantization_annotation.add(tensor_name="nothing")
    annotated.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="../x")
    return model
