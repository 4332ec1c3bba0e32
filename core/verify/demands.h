#pragma once

// Finds out which values of a graph's inputs their readers accept. Readers behind nodes that only
// pass elements on count, too. Linear in the size of the graph.

#include <cstdint>
#include <limits>
#include <vector>

#include "core/model/graph.h"

namespace quotient::verify {

// What the readers of an input require of its values, and what they tolerate.
struct Demand {
  static constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

  int64_t index_bound = kNoBound;  // If the values are used as indices, they must be less.
  // If the values are the index tuples of a ScatterND, their components must be less than these,
  // and the tuples must be distinct. Empty otherwise.
  std::vector<int64_t> tuple_bounds;
  bool positive = false;  // Read by Log or Sqrt, or as a variance.
  bool nonzero = false;   // Used as a divisor of integers.
  // Some reader turns infinities into finite numbers: only negative ones (a mask added before a
  // Softmax), or both.
  bool takes_minus_infinity = false;
  bool takes_infinities = false;
  // Whether it may hold NaN, and the largest numbers of its type (Extremes).
  bool takes_nan = false;
  bool takes_largest = false;

  // Tightens tuple_bounds, so that the tuples are also within these bounds.
  void TakeTuples(const std::vector<int64_t>& bounds);
};

// The demands on the inputs of a static graph, in the order of the inputs.
std::vector<Demand> FindDemands(const model::Graph& graph);

}  // namespace quotient::verify
