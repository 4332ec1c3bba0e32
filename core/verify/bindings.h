#pragma once

// Bindings: other sizes of a model's inputs than those it is measured with. What is right for one
// size only (a batch of one, an even length, two dimensions that happen to be equal) shows there.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/cut.h"

namespace quotient::verify {

// Input name -> dims.
using Shapes = std::map<std::string, std::vector<int64_t>>;

// A copy of a graph whose inputs have these dims (those not named keep their type), with the type
// of everything else inferred from the inputs alone: what the graph declared or what was inferred
// with other dims is forgotten. Only what opaque nodes produce keeps what is declared, with the
// symbols that the inputs bind to one number each. Errors of ops::InferTypes: the operators do not
// take these dims.
absl::StatusOr<model::Graph> InferAt(const model::Graph& graph, const Shapes& shapes);

// The same with constants folded, cut.
absl::StatusOr<CutGraph> CutAt(const model::Graph& graph, const Shapes& shapes, int threads,
                               const StopCondition& stop);

// Other sizes for a graph than `measured` (which holds dims for every input that was bound), the
// ones to be tried first in front: small ones. `round` counts from 0: each round has other numbers.
// Dimensions that are no numbers have different ones wherever the graph's own operators allow it,
// also where they have one name; then equal ones for each name; then equal ones for all that are
// equal in `measured`; then those of `measured` with another first dimension. Each passes InferAt
// and leaves no more nodes without types than `measured` does; whether the graph can be evaluated
// there remains to be seen. Empty: the graph has no such dimension (HasFreeDims), or nothing was
// found, or `stop` says so. At most some dozens of inferences, n log n in the dimensions each.
std::vector<Shapes> ProposeBindings(const model::Graph& graph, const Shapes& measured, int round,
                                    const StopCondition& stop);

// Whether an input has a dimension that is no number, and `measured` has one for it.
bool HasFreeDims(const model::Graph& graph, const Shapes& measured);

// About how many multiply-adds (or elements looked at) evaluating a cut takes.
double OperationsOf(const CutGraph& cut);

// "x=[2,3,35,37], y=[2]".
std::string ToString(const Shapes& shapes);

}  // namespace quotient::verify
