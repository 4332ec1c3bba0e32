#pragma once

// The node that a question is about: in the graph that the search starts from, or what became of it
// before.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/optimize/prepared.h"

namespace quotient::optimize {

struct AskedNode {
  // In Prepared::graph. Invalid if the search knows no such node.
  model::NodeId node;
  // If invalid: whether the model has such a node, and a sentence on what became of it, or on names
  // that are near.
  bool was_removed = false;
  std::string why;
};

// Finds a node by its name, or else by the name of one of its outputs. When `stop` fires, `why` has
// less to say.
AskedNode FindAskedNode(const Prepared& prepared, absl::string_view name,
                        const StopCondition& stop);

}  // namespace quotient::optimize
