#include "core/domain/steps.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/model/dtype.h"
#include "core/ops/op.h"

namespace quotient::domain {
namespace {

using model::NodeId;
using model::ValueId;

// An unknown element type may be a floating-point type.
bool MayBeFloat(const model::TensorType& type) {
  return type.dtype == model::DType::kUndefined || model::IsFloat(type.dtype);
}

// Nothing is known of an opaque node.
bool MayBeStep(const model::Node& node) {
  return node.is_opaque() || IsStep(node.op, node.attributes);
}

// Marks values backwards from the steps. Each value is marked once and each group of nodes is
// visited once, so this takes linear time.
class StepWalk {
 public:
  explicit StepWalk(const model::Graph& graph)
      : graph_(graph), live_(model::LiveNodes(graph)), marked_(graph.values.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!live_[i]) continue;
      if (auto key = GroupOf(graph.nodes[i])) groups_[*std::move(key)].emplace_back(i);
    }
  }

  std::vector<bool> Run() && {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (live_[i] && MayBeStep(graph_.nodes[i])) MarkInputs(graph_.nodes[i]);
    }
    while (!open_.empty()) {
      const model::Value& value = graph_.value(open_.back());
      open_.pop_back();
      if (!value.producer.valid()) continue;
      const model::Node& node = graph_.node(value.producer);
      if (node.is_opaque() || !PassesLastBits(node.op, value.type)) continue;
      MarkInputs(node);
      MarkGroup(node);
    }
    return std::move(marked_);
  }

 private:
  // The operator and its constant; nullopt for a node without a constant.
  std::optional<std::string> GroupOf(const model::Node& node) const {
    if (node.inputs.size() != 2 || node.outputs.size() != 1) return std::nullopt;
    if (!PassesLastBits(node.op, graph_.value(node.outputs[0]).type)) return std::nullopt;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!graph_.is_constant(node.inputs[i])) continue;
      return absl::StrCat(node.op, " ", i, " ",
                          graph_.value(node.inputs[i]).constant->digest().Hex());
    }
    return std::nullopt;
  }

  void MarkGroup(const model::Node& node) {
    const std::optional<std::string> key = GroupOf(node);
    const auto group = key ? groups_.find(*key) : groups_.end();
    if (group == groups_.end()) return;
    for (const NodeId other : group->second) Mark(graph_.node(other).outputs[0]);
    groups_.erase(group);
  }

  void MarkInputs(const model::Node& node) {
    for (const ValueId input : node.inputs) {
      if (input.valid() && MayBeFloat(graph_.value(input).type)) Mark(input);
    }
  }

  void Mark(ValueId value) {
    if (marked_[value.value()]) return;
    marked_[value.value()] = true;
    open_.push_back(value);
  }

  const model::Graph& graph_;
  const std::vector<bool> live_;
  absl::flat_hash_map<std::string, std::vector<NodeId>> groups_;
  std::vector<bool> marked_;   // By ValueId.
  std::vector<ValueId> open_;  // Marked values whose producers have not been visited.
};

}  // namespace

bool IsStep(absl::string_view op, const model::AttributeMap& attributes) {
  if (op == "Cast") {
    const auto to = model::DTypeFromOnnx(static_cast<int32_t>(attributes.GetInt("to", 0)));
    return !to || !model::IsFloat(*to);
  }
  const ops::OpDef* const def = ops::FindOp(op);
  return def != nullptr && def->numerics.step;
}

bool PassesLastBits(absl::string_view op, const model::TensorType& output) {
  const ops::OpDef* const def = ops::FindOp(op);
  return MayBeFloat(output) && (def == nullptr || !def->numerics.own_rounding);
}

std::vector<bool> ReadBySteps(const model::Graph& graph) { return StepWalk(graph).Run(); }

}  // namespace quotient::domain
