#pragma once

// Where the float inputs of a graph are drawn to compare values in floats.

#include <cstdint>
#include <set>
#include <vector>

#include "core/base/rng.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::prove {

struct Point {
  enum class Range {
    kSmall,   // Between -1 and 1, where many functions have not met their bounds.
    kMiddle,  // Up to 8, from -1 or from -8: beyond the bounds of Clip(0, 6) and HardSigmoid.
    // Up to 256, where the sizes of numbers differ most, and around `numbers`. Half of the tensors
    // are positive, so that some roots and logarithms are numbers.
    kLarge,
  };
  uint64_t seed = 0;
  Range range = Range::kSmall;
  std::set<double> numbers = {};
  int perturbations = 1;  // How often the sensitivity of values is sampled (conditioning.h).
};

// Elements of one input.
std::vector<double> DrawFloats(const Point& point, int64_t count, Rng& rng);

// The numbers at which functions of the e-graph may have a bound: float attributes, and elements of
// constants that have few of them.
std::set<double> NumbersOf(const domain::TensorEGraph& tensors);

}  // namespace quotient::prove
