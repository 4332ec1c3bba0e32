#pragma once

// What the readers of a graph's inputs can take, also behind nodes that pass their elements on.
// Linear in the graph.

#include <cstdint>
#include <limits>
#include <vector>

#include "core/model/graph.h"

namespace quotient::verify {

// What the readers of an input demand of its values.
struct Demand {
  static constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

  int64_t index_bound = kNoBound;  // as an index: below this
  // As tuples that say what a ScatterND writes, each of which is there once: below these.
  std::vector<int64_t> tuple_bounds;
  bool positive = false;  // read by Log or Sqrt, or a variance
  bool nonzero = false;   // divides integers
  // Something behind it makes ordinary numbers of infinities: of lower ones alone (a mask that is
  // added in front of a Softmax), or of both.
  bool takes_minus_infinity = false;
  bool takes_infinities = false;

  void TakeTuples(const std::vector<int64_t>& bounds);
};

// One for each input of a static graph, in order.
std::vector<Demand> FindDemands(const model::Graph& graph);

// Numbers at which operators of the graph change what they do: float attributes (bounds of Clip)
// and constants of few elements, which inputs may be compared with. Sorted, each once, not many.
std::vector<double> Thresholds(const model::Graph& graph);

}  // namespace quotient::verify
