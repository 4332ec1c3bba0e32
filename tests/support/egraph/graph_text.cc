#include "tests/support/egraph/graph_text.h"

#include "absl/strings/str_cat.h"

namespace quotient::testing {

std::string TextOf(const egraph::EGraph& graph) {
  std::string text;
  for (const egraph::ClassId id : graph.classes()) {
    for (const egraph::ENodeId node : graph.nodes(id)) {
      const egraph::ENodeView view = graph.node(node);
      absl::StrAppend(&text, id.value(), ":", node.value(), "=", graph.table().Name(view.op));
      for (const egraph::ClassId child : view.children) absl::StrAppend(&text, ",", child.value());
      absl::StrAppend(&text, "/", graph.origin(node), "\n");
    }
  }
  return text;
}

}  // namespace quotient::testing
