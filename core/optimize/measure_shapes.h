#pragma once

// Chooses the numbers that stand in for the symbols of a model while it is checked and measured.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/ops/infer_graph.h"

namespace quotient::optimize {

struct MeasureShapes {
  ops::InputShapes shapes;         // The argument of ops::BindShapes.
  std::vector<std::string> notes;  // Sentences for the report on what was assumed.
};

// Returns how many operations one evaluation of the model takes with these shapes of its inputs, or
// why it cannot be measured with them. After MODEL_SHAPE, MODEL_MALFORMED, LIMIT_DIMS or
// MODEL_UNSUPPORTED (too large for this machine), other sizes are tried. Any other error ends the
// choice.
using AcceptShapes = std::function<absl::StatusOr<double>(const ops::InputShapes& shapes)>;

// Usually, sizes that were assumed are halved while one evaluation takes more operations than this.
// A BERT-large takes 4.7e10 at the length that is assumed, and three seconds on one core (-O2).
inline constexpr double kMostOperations = 5e10;

// The types of `graph` must have been inferred. `asked` holds the dims that the user gave. A symbol
// that they bind in one input has that number in the others. Other symbols are assumed: a first
// dimension is a batch and is 1, any other is a length (128) or, in tensors with four or more
// dimensions, the side of an image (224). An input with a default is as large as that. If the model
// makes no sense with these sizes, a bounded number of others is tried, among them numbers that
// occur in the model: each size by itself, then several that are equal. Those that bring inference
// furthest along the nodes are kept. If an evaluation would take more than most_operations, lengths
// and sides are halved as far as the model accepts that. `accept` decides: its last call is the one
// that accepted the result. Everything that was assumed is noted.
//
// Inputs that no node reads are left alone. So are inputs of unknown rank, and what reads them is
// not measured.
//
// Fails with SHAPE_MISSING if no sizes are found, with OPTION_INVALID if `asked` does not fit the
// inputs or leaves nothing open and makes no sense, with CANCELLED or RUN_BUDGET when `stop` fires,
// and with other errors of `accept`.
absl::StatusOr<MeasureShapes> ChooseMeasureShapes(const model::Graph& graph,
                                                  const ops::InputShapes& asked,
                                                  const AcceptShapes& accept,
                                                  const StopCondition& stop,
                                                  double most_operations = kMostOperations);

}  // namespace quotient::optimize
