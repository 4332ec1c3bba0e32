#pragma once

// Cut: the part of a graph that can be computed. Opaque nodes, and nodes whose types are not
// static, are cut out: what they produce becomes an input, what they read becomes an output.
// So a model with one exotic node is still checked and measured everywhere else.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"

namespace quotient::verify {

struct CutGraph {
  // No opaque nodes; every value that a node reads or produces is static.
  model::Graph graph;
  // What the inputs and outputs of `graph` are, parallel to them: equal keys in the cuts of a model
  // and of its optimized form mean the same value. Inputs and outputs of the model have the keys
  // "input NAME" and "output NAME".
  std::vector<std::string> input_keys;
  std::vector<std::string> output_keys;
  // Nodes that were cut out and are live.
  int cut_nodes = 0;
};

// `graph` has its types inferred and its shapes bound. Fails only on a broken graph.
absl::StatusOr<CutGraph> Cut(const model::Graph& graph);

}  // namespace quotient::verify
