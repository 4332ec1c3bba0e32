#pragma once

// CUDA C++ that precedes the texts of Quotient's kernels: element types, conversions, functions.

namespace quotient::kernels::cuda {

// The types of elements and of their arithmetic, and runs of elements that are read and written at
// once. Precedes every kernel.
extern const char kPrelude[];

// Functions of floats that compute operators.
extern const char kMathPrelude[];

// convert<T>(value): the result of Cast for a widened value.
extern const char kConvertPrelude[];

// Combines one value of every thread in a group. Needs kGroup, the threads per group, which is a
// power of two that divides kBlock, the threads per block.
extern const char kReducePrelude[];

}  // namespace quotient::kernels::cuda
