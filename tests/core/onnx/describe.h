#pragma once

// Describe: the nodes of a graph as text, for tests of conversions.

#include <string>

#include "absl/strings/str_cat.h"
#include "core/model/graph.h"

namespace quotient::testing {

// "Clip{max=6};Relu;": operators and attributes in order, without names.
inline std::string Describe(const model::Graph& graph) {
  std::string text;
  for (const model::Node& node : graph.nodes) {
    absl::StrAppend(&text, node.is_opaque() ? "opaque " + node.opaque->op : node.op,
                    model::ToString(node.attributes), ";");
  }
  return text;
}

}  // namespace quotient::testing
