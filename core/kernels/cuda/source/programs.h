#pragma once

// Generators of Quotient's own GPU kernels, one per kind. Each function makes the program for a
// spec, or returns nullopt if it does not handle the spec. Values are stored on the device in their
// own types; 16-bit floats are computed in float and rounded when they are written. A program with
// an empty output has no launches. Pure functions: equal specs give equal programs. Thread-safe.

#include <optional>

#include "core/kernels/cuda/program/program.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// "chain": element-wise floating-point nodes (core/kernels/fusion.h).
std::optional<Program> MakeChainProgram(const KernelSpec& spec);

// "typed": other element-wise operators: Cast, Where, comparisons, logic, integers, and functions
// of floats that do not fuse.
std::optional<Program> MakeTypedProgram(const KernelSpec& spec);

// "copy", "transpose": layout changes, Transpose, Concat, Split, Slice, Expand, Tile, and views
// that are not free.
std::optional<Program> MakeCopyProgram(const KernelSpec& spec);

// "softmax": Softmax and LogSoftmax along any axis, and kMaskedSoftmaxOp of x + mask along the last
// axis in plain layout, where `mask` is broadcast to x and may be left out. May run in place.
inline constexpr char kMaskedSoftmaxOp[] = "MaskedSoftmax";  // Part of attention; not in graphs.
std::optional<Program> MakeSoftmaxProgram(const KernelSpec& spec);

// "normalize": Layer-, RMS-, Instance- and GroupNormalization.
std::optional<Program> MakeNormalizeProgram(const KernelSpec& spec);

// "reduce": the Reduce operators, ArgMax, ArgMin, GlobalAveragePool, GlobalMaxPool.
std::optional<Program> MakeReduceProgram(const KernelSpec& spec);

// "pool": MaxPool and AveragePool of floats.
std::optional<Program> MakePoolProgram(const KernelSpec& spec);

// "gather": Gather, GatherElements, GatherND. An index out of range gives zero.
std::optional<Program> MakeGatherProgram(const KernelSpec& spec);

// "scatter": ScatterND without a reduction. An index out of range writes nothing. If a block is
// selected twice, which ONNX does not allow, either update may remain.
std::optional<Program> MakeScatterProgram(const KernelSpec& spec);

// "pad": Pad in every mode.
std::optional<Program> MakePadProgram(const KernelSpec& spec);

// "resize": Resize to the nearest neighbour or linearly along at most three axes.
std::optional<Program> MakeResizeProgram(const KernelSpec& spec);

// "quantize": QuantizeLinear to integers of at most 16 bits, and DequantizeLinear.
std::optional<Program> MakeQuantizeProgram(const KernelSpec& spec);

// "cumsum", "trilu".
std::optional<Program> MakeLineProgram(const KernelSpec& spec);

// The first of the above that handles the spec.
std::optional<Program> MakeSourceProgram(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
