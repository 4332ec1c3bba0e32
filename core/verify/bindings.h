#pragma once

// Bindings: a model at given sizes of its inputs.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/ops/infer_graph.h"
#include "core/verify/cut.h"

namespace quotient::verify {

// Input name -> dims.
using Shapes = ops::InputShapes;

// A copy of a graph whose inputs have these dims (those not named keep their type), with the type
// of everything else inferred from the inputs alone: what the graph declared or what was inferred
// with other dims is forgotten. Only what opaque nodes produce keeps what is declared, with the
// symbols that the inputs bind to one number each. Errors of ops::InferTypes: the operators do not
// take these dims.
absl::StatusOr<model::Graph> InferAt(const model::Graph& graph, const Shapes& shapes);

// What is evaluated of a graph with its types: with constants folded, whatever their size, and cut.
absl::StatusOr<CutGraph> FoldAndCut(model::Graph graph, int threads, const StopCondition& stop);

// Both.
absl::StatusOr<CutGraph> CutAt(const model::Graph& graph, const Shapes& shapes, int threads,
                               const StopCondition& stop);

// A dimension of an input that is no number.
struct FreeDim {
  std::string input;
  size_t axis;
  std::string symbol;  // empty: unknown
  size_t rank;
  int64_t measured;
};

// Those of the inputs that `measured` has dims for, in the order of the inputs.
std::vector<FreeDim> FreeDims(const model::Graph& graph, const Shapes& measured);

// About how many multiply-adds (or elements looked at) evaluating a cut takes, with what reading
// weights comes to.
double OperationsOf(const CutGraph& cut);

// "x=[2,3,35,37], y=[2]".
std::string ToString(const Shapes& shapes);

}  // namespace quotient::verify
