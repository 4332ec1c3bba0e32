#include "core/eval/evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/stop_error.h"
#include "core/ops/op.h"

namespace quotient::eval {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::ValueId;

// One evaluation: the nodes it needs, and the values that are still to be read.
class Run {
 public:
  Run(const Graph& graph, int threads, const NodeHook& hook)
      : graph_(graph),
        threads_(threads),
        hook_(hook),
        needed_(graph.nodes.size()),
        uses_(graph.values.size()),
        values_(graph.values.size()) {}

  // Sets a value from outside, which is then not computed.
  absl::Status Give(ValueId id, const Tensor& tensor);
  // Sets the inputs without a value to their defaults.
  void GiveDefaults();
  // Marks the nodes that these values need.
  absl::Status Need(const std::vector<ValueId>& wanted);
  absl::Status EvaluateAll(const StopCondition& stop);
  // Only for values that were wanted, after EvaluateAll.
  const Tensor& value(ValueId id) const { return *values_[id.value()]; }

 private:
  bool IsGiven(ValueId id) const { return values_[id.value()].has_value(); }
  absl::Status NeedValue(ValueId id);
  absl::Status EvaluateOne(NodeId id);
  void Release(ValueId id);

  const Graph& graph_;
  const int threads_;
  const NodeHook& hook_;
  std::vector<bool> needed_;                   // By node.
  std::vector<int> uses_;                      // By value: reads to come.
  std::vector<std::optional<Tensor>> values_;  // By value.
};

absl::Status Run::Give(ValueId id, const Tensor& tensor) {
  if (!id.valid() || id.value() >= graph_.values.size()) {
    return absl::InvalidArgumentError("an input is no value of the graph");
  }
  const model::Value& value = graph_.value(id);
  if (!model::Compatible(tensor.type(), value.type)) {
    return absl::InvalidArgumentError(absl::StrCat("value '", value.name, "' is ",
                                                   model::ToString(value.type), ", but got ",
                                                   model::ToString(tensor.type())));
  }
  values_[id.value()] = tensor;
  return absl::OkStatus();
}

void Run::GiveDefaults() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    std::optional<Tensor>& value = values_[graph_.inputs[i].value()];
    if (!value.has_value()) value = graph_.defaults[i];
  }
}

absl::Status Run::NeedValue(ValueId id) {
  ++uses_[id.value()];
  const model::Value& value = graph_.value(id);
  if (IsGiven(id)) return absl::OkStatus();
  if (value.constant.has_value()) {
    values_[id.value()] = value.constant;
    return absl::OkStatus();
  }
  if (!value.producer.valid()) {
    return absl::InvalidArgumentError(absl::StrCat("no value for input '", value.name, "'"));
  }
  const Node& node = graph_.node(value.producer);
  if (node.is_opaque()) {
    return absl::InvalidArgumentError(absl::StrCat("no value for '", value.name, "', which node '",
                                                   node.name, "' (", node.opaque->op,
                                                   ") would compute"));
  }
  needed_[value.producer.value()] = true;
  return absl::OkStatus();
}

absl::Status Run::Need(const std::vector<ValueId>& wanted) {
  for (ValueId id : wanted) QUOTIENT_RETURN_IF_ERROR(NeedValue(id));
  // Producers precede consumers, so one backward pass finds all.
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    for (ValueId input : graph_.nodes[i].inputs) {
      if (input.valid()) QUOTIENT_RETURN_IF_ERROR(NeedValue(input));
    }
  }
  return absl::OkStatus();
}

void Run::Release(ValueId id) {
  if (id.valid() && --uses_[id.value()] == 0) values_[id.value()].reset();
}

absl::Status Run::EvaluateOne(NodeId node_id) {
  const Node& node = graph_.node(node_id);
  std::vector<const Tensor*> inputs;
  for (ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? &*values_[input.value()] : nullptr);
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, ops::EvaluateNode(node, inputs, threads_));
  if (hook_ != nullptr) hook_(node_id, inputs, outputs);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (!id.valid() || uses_[id.value()] == 0 || IsGiven(id)) continue;
    const model::Value& value = graph_.value(id);
    if (!model::Compatible(outputs[i].type(), value.type)) {
      return MakeError(Reason::kModelShape, absl::StrCat("output '", value.name, "' should be ",
                                                         model::ToString(value.type), ", but is ",
                                                         model::ToString(outputs[i].type())));
    }
    values_[id.value()] = std::move(outputs[i]);
  }
  for (ValueId input : node.inputs) Release(input);
  return absl::OkStatus();
}

absl::Status Run::EvaluateAll(const StopCondition& stop) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!needed_[i]) continue;
    if (stop.ShouldStop()) return StopError(stop.Check());
    const absl::Status status = EvaluateOne(NodeId(static_cast<uint32_t>(i)));
    if (!status.ok()) {
      const Node& node = graph_.nodes[i];
      return Annotate(status, absl::StrCat("node '", node.name, "' (", node.op, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ValueMap> Evaluate(const Graph& graph, const ValueMap& inputs,
                                  const std::vector<ValueId>& wanted, int threads,
                                  const StopCondition& stop, const NodeHook& hook) {
  Run run(graph, threads, hook);
  for (const auto& [id, tensor] : inputs) QUOTIENT_RETURN_IF_ERROR(run.Give(id, tensor));
  run.GiveDefaults();
  QUOTIENT_RETURN_IF_ERROR(run.Need(wanted));
  QUOTIENT_RETURN_IF_ERROR(run.EvaluateAll(stop));
  ValueMap results;
  for (ValueId id : wanted) results.emplace(id, run.value(id));
  return results;
}

}  // namespace quotient::eval
