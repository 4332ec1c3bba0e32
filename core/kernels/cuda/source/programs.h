#pragma once

// Generators of our own GPU kernels, one per kind. Each function makes the program of a spec, or
// nothing if the spec is not its business. Values lie on the device in their own types, floats of
// 16 bits are computed in float and rounded when they are written. A program of an empty output has
// no launches. Pure functions: equal specs give equal programs. Thread-safe.

#include <optional>

#include "core/kernels/cuda/program.h"
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

// "softmax": Softmax and LogSoftmax along any axis; kMaskedSoftmaxOp of x + mask along the last
// axis, of plain layout, where `mask` spreads over x and may be left out. May run in place.
inline constexpr char kMaskedSoftmaxOp[] = "MaskedSoftmax";  // a part of attention, no node
std::optional<Program> MakeSoftmaxProgram(const KernelSpec& spec);

// "normalize": Layer-, RMS-, Instance- and GroupNormalization.
std::optional<Program> MakeNormalizeProgram(const KernelSpec& spec);

// "reduce": ReduceSum and its like, ArgMax, ArgMin, GlobalAveragePool, GlobalMaxPool.
std::optional<Program> MakeReduceProgram(const KernelSpec& spec);

// "pool": MaxPool and AveragePool of floats.
std::optional<Program> MakePoolProgram(const KernelSpec& spec);

// "gather": Gather, GatherElements, GatherND. An index out of range fetches zero.
std::optional<Program> MakeGatherProgram(const KernelSpec& spec);

// "scatter": ScatterND without a reduction. An index out of range writes nothing; of two blocks of
// one name, which ONNX does not allow, either may remain.
std::optional<Program> MakeScatterProgram(const KernelSpec& spec);

// "pad": Pad in every mode.
std::optional<Program> MakePadProgram(const KernelSpec& spec);

// "resize": Resize to the nearest neighbour or linearly along at most three axes.
std::optional<Program> MakeResizeProgram(const KernelSpec& spec);

// "cumsum", "trilu".
std::optional<Program> MakeLineProgram(const KernelSpec& spec);

// The first of the above that takes the spec.
std::optional<Program> MakeSourceProgram(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
