#pragma once

// Which numbers stand in for the symbols of a model while it is checked and measured.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/ops/infer_graph.h"

namespace quotient::optimize {

struct MeasureShapes {
  ops::InputShapes shapes;         // for ops::BindShapes
  std::vector<std::string> notes;  // what was assumed, for the report
};

// Whether the model can be measured with its inputs of these shapes: MODEL_SHAPE, MODEL_MALFORMED,
// LIMIT_DIMS or MODEL_UNSUPPORTED (too large here) if not, for which other sizes are tried; any
// other error ends the choice.
using AcceptShapes = std::function<absl::Status(const ops::InputShapes& shapes)>;

// `graph` has its types inferred. `asked`: dims the user gave. What they leave open: a symbol that
// they bind elsewhere has that number; a first dimension is a batch and is 1; any other is a length
// (128) or, in tensors of four and more dimensions, the side of a picture (224); an input that has
// a default is as large as that. Where the model makes no sense with these, others are tried, a
// bounded number of them: each size by itself, then several that are equal, whatever brings
// inference furthest along the nodes. `accept` has the last word; it accepted what is returned, and
// was asked of nothing afterwards. Whatever was assumed is noted.
//
// Inputs that nobody reads are left alone, and so are those whose rank is not known: what reads
// them is not measured.
//
// Choosing ends when `stop` says so, even before any sizes are found: CANCELLED or RUN_BUDGET.
//
// SHAPE_MISSING if no sizes are found. OPTION_INVALID if `asked` does not fit the inputs, or leaves
// nothing open and makes no sense. Errors of `accept`.
absl::StatusOr<MeasureShapes> ChooseMeasureShapes(const model::Graph& graph,
                                                  const ops::InputShapes& asked,
                                                  const AcceptShapes& accept,
                                                  const StopCondition& stop);

}  // namespace quotient::optimize
