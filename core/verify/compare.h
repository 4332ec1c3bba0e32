#pragma once

// Compares tensors of an optimized graph with those of the original. The error of each element is
// judged relative to the elements around it; README.md explains why.

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::verify {

// How sensitive an output of the original is to rounding, on one set of inputs.
struct Conditioning {
  // By element, how far rounding alone moves it (RaiseDeviation).
  std::span<const float> deviation;
  // Whether the original left the range of its types while it computed this output.
  bool overflowed = false;
};

// How elements are compared that are NaN or infinite in both tensors.
enum class NonFinite {
  kMustAgree,
  // NaN and the infinities count as equal. That is for inputs that hold infinities: a product of
  // one is infinite or NaN, and which of these depends on the order of the operations.
  kMayDiffer,
};

// How two tensors differ.
struct Difference {
  // The largest |a - b| divided by the scale of its element. The scale is the smallest among the
  // largest magnitudes of the slices that contain the element, but at least a thousandth of the
  // largest magnitude in the tensor. Infinite if one is NaN or infinite and the other is not the
  // same, and if integers differ. A number that represents an infinity (in masks) is its own scale.
  // If the conditioning is known, the allowance for rounding is added to the scale, and elements in
  // doubt do not count.
  double relative_error = 0;
  int64_t index = -1;       // Index of the element with the largest difference, or -1.
  bool has_finite = false;  // Whether some element is finite in both tensors.
  int64_t wrong = 0;        // Number of elements that differ too much and are not in doubt.

  // --- By element; empty if the conditioning is not known
  // Whether it differs by more than is allowed, but rounding alone moves the original as far.
  std::vector<bool> doubtful;
  // Whether it agrees, and rounding moves it so little that the agreement is significant.
  std::vector<bool> told;
  bool has_doubts = false;
};

// The difference is infinite if types or shapes differ. `tolerance` is the largest error that the
// caller accepts. `conditioning` is null if it is not known.
Difference Compare(const model::Tensor& original, const model::Tensor& other, double tolerance,
                   const Conditioning* conditioning = nullptr,
                   NonFinite non_finite = NonFinite::kMustAgree);

// The norm of the difference divided by the norm of the original, over the elements where the
// original is finite. It distinguishes a device's rounding from a wrong kernel. Infinite if only
// the original is finite somewhere, or if types differ. 0 for integers, which may depend on a last
// digit.
double RelativeNorm(const model::Tensor& original, const model::Tensor& other);

// The relative error that is allowed for a graph, by the narrowest floating-point type in it:
// float64 1e-9, float32 1e-4, float16 1e-2, bfloat16 2e-2.
double Tolerance(const model::Graph& graph);

}  // namespace quotient::verify
