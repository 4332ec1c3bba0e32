#include "core/prove/idle_indices.h"

#include <algorithm>

#include "core/ops/op.h"

namespace quotient::prove {

bool HasIdleIndices(const model::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&graph](const model::Node& node) {
    const ops::OpDef* const def = ops::FindOp(node.op);
    if (def == nullptr || graph.value(node.outputs[0]).type.elements() > 0) return false;
    return std::ranges::any_of(def->numerics.requirements, [](const ops::Requirement& requirement) {
      return ops::AreIndices(requirement.kind);
    });
  });
}

}  // namespace quotient::prove
