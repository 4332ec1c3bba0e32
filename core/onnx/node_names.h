#pragma once

// Chooses the names of the nodes in a written model. Nodes of the original keep their names, even
// empty ones, and new nodes get unique names. Runtimes refuse nodes with equal names; if the
// original has such nodes, they keep their names all the same.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/onnx/names.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

class NodeNames {
 public:
  NodeNames(const Skeleton& skeleton, const model::Graph& graph);

  // The name of the node with this index in the graph.
  const std::string& Of(size_t node) const { return names_[node]; }
  // A unique name for a node that is not in the graph.
  std::string Fresh(absl::string_view wanted) { return pool_.Fresh(wanted); }

 private:
  std::vector<std::string> names_;
  NamePool pool_;
};

}  // namespace quotient::onnx
