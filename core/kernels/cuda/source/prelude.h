#pragma once

// CUDA C++ that stands in front of our kernels' texts: element types, conversions, functions.

namespace quotient::kernels::cuda {

// Types of elements, what they are computed as, and runs of elements that are read and written at
// once. In front of every kernel.
extern const char kPrelude[];

// Functions of floats, as the operators of those names compute them.
extern const char kMathPrelude[];

// convert<T>(value): what Cast makes of a widened value.
extern const char kConvertPrelude[];

// Combines a value of every thread of a group: needs kGroup, threads per group, a power of two that
// divides kBlock, threads per block.
extern const char kReducePrelude[];

}  // namespace quotient::kernels::cuda
