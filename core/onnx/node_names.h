#pragma once

// Names of the nodes in a written model. Nodes of the original keep theirs, empty ones too; new
// ones get a name that no other node has. (Runtimes refuse two nodes of one name; a model that came
// with such is left as it is.)

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

  // By index in the graph.
  const std::string& Of(size_t node) const { return names_[node]; }
  // For a node that is in no graph.
  std::string Fresh(absl::string_view wanted) { return pool_.Fresh(wanted); }

 private:
  std::vector<std::string> names_;
  NamePool pool_;
};

}  // namespace quotient::onnx
