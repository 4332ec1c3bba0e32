#pragma once

// Which numbers stand in for the symbols of a model while it is checked and measured.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"

namespace quotient::optimize {

struct MeasureShapes {
  std::map<std::string, std::vector<int64_t>> shapes;  // for ops::BindShapes
  std::vector<std::string> notes;                      // what was assumed, for the report
  // Some dimension was assumed to be more than 1: the model may contradict it.
  bool guessed = false;
};

// `asked`: dims the user gave. What they leave open: a symbol that they bind elsewhere has that
// number; a first dimension is a batch and is 1; any other is a length (128) or, in tensors of four
// and more dimensions, the side of a picture (224). Whatever was assumed is noted. SHAPE_MISSING,
// naming the input, where not even the rank is known. Inputs that only opaque nodes read, or
// nobody, are left alone.
absl::StatusOr<MeasureShapes> ChooseMeasureShapes(
    const model::Graph& graph, const std::map<std::string, std::vector<int64_t>>& asked);

}  // namespace quotient::optimize
