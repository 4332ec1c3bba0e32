#include "core/pricing/enode_operands.h"

#include <cstdint>

#include "core/kernels/layout_plan.h"

namespace quotient::pricing {

using domain::OpWord;
using egraph::ENodeId;

kernels::LayoutRole ENodeOperands::RoleOf(ENodeId node) const {
  const OpWord& word = tensors_.domain->word(tensors_.egraph->node(node).op);
  if (word.sort != OpWord::Sort::kOperator) return kernels::LayoutRole::kAny;
  return word.def == nullptr ? kernels::LayoutRole::kPlain : word.def->layout;
}

bool ENodeOperands::SomeWantChannelsLast() const {
  const egraph::EGraph& graph = *tensors_.egraph;
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const ENodeId node(i);
    if (graph.live(node) && RoleOf(node) == kernels::LayoutRole::kChannelsLast) return true;
  }
  return false;
}

void ENodeOperands::PlanLayouts() {
  const egraph::EGraph& graph = *tensors_.egraph;
  layouts_.assign(graph.class_bound(), kernels::Layout::kPlain);
  if (partition_.runtime != nullptr || !SomeWantChannelsLast()) return;
  kernels::LayoutPlanner planner(graph.class_bound());
  for (const egraph::ClassId cls : graph.classes()) {
    const domain::ClassData& data = tensors_.domain->data(graph, cls);
    planner.AddValue(cls.value(), data.measured, data.runs_as_constant());
  }
  std::vector<uint32_t> inputs;
  for (const egraph::ClassId cls : graph.classes()) {
    for (const ENodeId node : graph.nodes(cls)) {
      const kernels::LayoutRole role = RoleOf(node);
      if (role == kernels::LayoutRole::kAny) continue;
      inputs.clear();
      for (const egraph::ClassId child : graph.node(node).children) {
        inputs.push_back(graph.Find(child).value());
      }
      const uint32_t output[] = {cls.value()};
      planner.AddOperator(role, inputs, output);
    }
  }
  layouts_ = planner.Choose();
}

std::vector<kernels::Operand> ENodeOperands::Of(ENodeId node,
                                                const domain::ENodeDescription& description) const {
  const egraph::EGraph& graph = *tensors_.egraph;
  std::vector<kernels::Operand> operands;
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const domain::ENodeOperand& input = description.inputs[i];
    kernels::Operand& operand = operands.emplace_back();
    if (!input.present) continue;
    operand.type = input.measured;
    operand.constant = input.constant;
    if (kernels::RoleOf(description.word->name) != kernels::LayoutRole::kTied) continue;
    operand.layout = layout(graph.Find(graph.node(node).children[i]));
  }
  return operands;
}

bool AllStatic(const std::vector<kernels::Operand>& operands, const model::TensorType& output) {
  for (const kernels::Operand& operand : operands) {
    const bool left_out =
        operand.type.dtype == model::DType::kUndefined && !operand.type.has_rank();
    if (!left_out && !operand.type.is_static()) return false;
  }
  return output.is_static();
}

}  // namespace quotient::pricing
