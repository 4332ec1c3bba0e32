#pragma once

// Binds a model to given dims of its inputs.

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

// Dims by input name.
using Shapes = ops::InputShapes;

// Returns `measured` with dims for the inputs that it leaves out, where each of their dims is a
// number or has a name that `measured` binds. An input of which only the shape is read needs no
// dims to be measured, but the result depends on them.
Shapes WithInputsOfKnownNames(const model::Graph& graph, const Shapes& measured);

// Returns a copy of the graph whose inputs have these dims. Inputs that are not named keep their
// type. All other types are inferred from the inputs alone; declared types, and types inferred with
// other dims, are dropped. Only outputs of opaque nodes keep their declared types, in which symbols
// are replaced if all inputs bind them to the same number. Fails as ops::InferTypes does if the
// operators do not accept these dims.
absl::StatusOr<model::Graph> InferAt(const model::Graph& graph, const Shapes& shapes);

// Folds the constants of a graph with inferred types, whatever their size, and cuts it.
absl::StatusOr<CutGraph> FoldAndCut(model::Graph graph, int threads, const StopCondition& stop);

// InferAt, then FoldAndCut.
absl::StatusOr<CutGraph> CutAt(const model::Graph& graph, const Shapes& shapes, int threads,
                               const StopCondition& stop);

// A dimension of an input that is not a number.
struct FreeDim {
  std::string input;
  size_t axis;
  std::string symbol;  // Empty if it is unknown.
  size_t rank;
  int64_t measured;
};

// The free dimensions of the inputs for which `measured` has dims, in the order of the inputs.
std::vector<FreeDim> FreeDims(const model::Graph& graph, const Shapes& measured);

// The approximate number of multiply-adds that an evaluation of the cut takes. Elements read count
// as one, and weights as what reading them takes.
double OperationsOf(const CutGraph& cut);

// At most how many bytes evaluating a cut takes beside its constants, as if all values were kept.
// Infinite if a value has more bytes than can be counted. Inputs count even where nothing reads
// them, because they are drawn all the same.
double BytesOf(const CutGraph& cut);

// "x=[2,3,35,37], y=[2]".
std::string ToString(const Shapes& shapes);

}  // namespace quotient::verify
