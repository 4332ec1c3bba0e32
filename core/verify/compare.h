#pragma once

// How far a tensor of an optimized graph is from that of the original, each element judged by what
// surrounds it. README.md has the argument.

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::verify {

// What is known of one output of the original on one set of inputs, beside its elements.
struct Conditioning {
  // By element, how far rounding alone moved it (RaiseDeviation).
  std::span<const float> deviation;
  // The original left the range of its types in what this output is computed from.
  bool overflowed = false;
};

// How two tensors differ.
struct Difference {
  // The largest |a - b| over the scale of its element: the smallest among the largest magnitudes of
  // the slices that the element lies in, but no less than a thousandth of the whole tensor's.
  // Infinite where one is NaN or infinite and the other is not the same, or where integers differ.
  // Numbers that stand for an infinity (masks) are compared with themselves alone. Where the
  // conditioning is known the scale has the allowance for rounding added, and elements in doubt do
  // not count.
  double relative_error = 0;
  int64_t index = -1;       // where the largest difference is; -1: none
  bool has_finite = false;  // an element is finite in both: only such tell something
  int64_t wrong = 0;        // elements that differ by more than is allowed and are not in doubt

  // Only where the conditioning is known, by element; else empty.
  // They differ by more than is allowed, but rounding alone moves the original as far.
  std::vector<bool> doubtful;
  // They agree, and rounding moves them so little that this says something.
  std::vector<bool> told;
  bool has_doubts = false;
};

// Types and shapes must be equal, else the difference is infinite. `tolerance` is what the caller
// compares the error with; `conditioning` is null where it is not known.
Difference Compare(const model::Tensor& original, const model::Tensor& other, double tolerance,
                   const Conditioning* conditioning = nullptr);

// The norm of the difference over that of the original, where that is finite: what a device's
// rounding is told from a wrong kernel by. Infinite where only the original is finite, or types
// differ; 0 for integers, which a last digit may decide.
double RelativeNorm(const model::Tensor& original, const model::Tensor& other);

// What is allowed for a graph: decided by the narrowest floating-point type in it. float64 1e-9,
// float32 1e-4, float16 1e-2, bfloat16 2e-2.
double Tolerance(const model::Graph& graph);

}  // namespace quotient::verify
