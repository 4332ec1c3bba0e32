#include "core/onnx/value_names.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/scopes.h"

namespace quotient::onnx {

using model::Graph;
using model::ValueId;

bool IsOriginalConstant(const Skeleton& skeleton, absl::string_view name,
                        const model::Tensor& tensor) {
  const auto original = skeleton.constants.find(name);
  return original != skeleton.constants.end() &&
         model::SameContent(original->second.tensor, tensor);
}

absl::StatusOr<ValueNames> ValueNames::Assign(const Graph& graph, const Skeleton& skeleton) {
  ValueNames names(graph, skeleton);
  QUOTIENT_RETURN_IF_ERROR(names.AssignInputs());
  names.AssignConstants();
  QUOTIENT_RETURN_IF_ERROR(names.AssignOutputs());
  QUOTIENT_RETURN_IF_ERROR(names.AssignCaptured());
  names.AssignRest();
  return names;
}

ValueNames::ValueNames(const Graph& graph, const Skeleton& skeleton)
    : graph_(&graph),
      skeleton_(&skeleton),
      names_(graph.values.size()),
      aliases_(graph.values.size()) {
  const GraphProto& proto = skeleton.proto.graph();
  for (const ValueInfoProto& input : proto.input()) {
    original_names_.insert(input.name());
    reserved_.insert(input.name());
  }
  for (const ValueInfoProto& output : proto.output()) reserved_.insert(output.name());
  for (const TensorProto& tensor : proto.initializer()) original_names_.insert(tensor.name());
  for (const SparseTensorProto& sparse : proto.sparse_initializer()) {
    original_names_.insert(sparse.values().name());
  }
  for (const NodeProto& node : proto.node()) {
    original_names_.insert(node.output().begin(), node.output().end());
    TakeNames(node, pool_);
  }
  for (const std::string& name : original_names_) pool_.Take(name);
}

ValueId ValueNames::Holder(absl::string_view name) const {
  const auto holder = holders_.find(name);
  return holder == holders_.end() ? ValueId() : holder->second;
}

bool ValueNames::MayName(absl::string_view name, const model::Tensor& tensor) const {
  const ValueId holder = Holder(name);
  if (!holder.valid()) return true;
  const model::Value& value = graph_->value(holder);
  return value.constant.has_value() && model::SameContent(*value.constant, tensor);
}

void ValueNames::Give(ValueId id, const std::string& name) {
  names_[id.value()] = name;
  holders_[name] = id;
  pool_.Take(name);
}

// Gives the value a fixed name: as its own name if it has none yet and may be renamed, else as an
// alias.
absl::Status ValueNames::Fix(ValueId id, const std::string& name, bool may_be_renamed) {
  const ValueId holder = Holder(name);
  if (holder == id) return absl::OkStatus();
  if (holder.valid()) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("two values must be called '", Escaped(name), "' in the result"));
  }
  if (names_[id.value()].empty() && may_be_renamed) {
    Give(id, name);
    return absl::OkStatus();
  }
  aliases_[id.value()].push_back(name);
  holders_[name] = id;
  return absl::OkStatus();
}

absl::Status ValueNames::AssignInputs() {
  const std::vector<std::string>& wanted = skeleton_->input_names;
  if (graph_->inputs.size() != wanted.size() ||
      graph_->outputs.size() != static_cast<size_t>(skeleton_->proto.graph().output_size())) {
    return MakeError(Reason::kInternal, "the result has other inputs or outputs than the model");
  }
  for (size_t i = 0; i < wanted.size(); ++i) Give(graph_->inputs[i], wanted[i]);
  return absl::OkStatus();
}

void ValueNames::AssignConstants() {
  for (uint32_t v = 0; v < graph_->values.size(); ++v) {
    const model::Value& value = graph_->values[v];
    if (value.constant.has_value() && !Holder(value.name).valid() &&
        IsOriginalConstant(*skeleton_, value.name, *value.constant)) {
      Give(ValueId(v), value.name);
    }
  }
}

// An output that is a constant gets its name from an Identity node, because initializers as outputs
// are legal but unusual.
absl::Status ValueNames::AssignOutputs() {
  for (size_t i = 0; i < graph_->outputs.size(); ++i) {
    const ValueId id = graph_->outputs[i];
    const bool produced = graph_->value(id).producer.valid();
    QUOTIENT_RETURN_IF_ERROR(
        Fix(id, skeleton_->proto.graph().output(static_cast<int>(i)).name(), produced));
  }
  return absl::OkStatus();
}

absl::Status ValueNames::AssignCaptured() {
  for (const model::Node& node : graph_->nodes) {
    if (!node.is_opaque() || node.opaque->kind != model::Opaque::Kind::kNode) continue;
    const auto first = static_cast<size_t>(node.opaque->first_captured_input);
    if (first >= node.inputs.size()) continue;
    NodeProto proto;
    const bool parsed = proto.ParseFromString(node.opaque->proto);
    const std::vector<std::string> captured = CapturedNames(proto);
    if (!parsed || captured.size() != node.inputs.size() - first) {
      return MakeError(Reason::kInternal, absl::StrCat("node '", Escaped(node.name),
                                                       "' captures other values than it did"));
    }
    for (size_t i = 0; i < captured.size(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(Fix(node.inputs[first + i], captured[i], /*may_be_renamed=*/true));
    }
  }
  return absl::OkStatus();
}

void ValueNames::AssignRest() {
  for (uint32_t v = 0; v < graph_->values.size(); ++v) {
    if (!names_[v].empty()) continue;
    const std::string& wanted = graph_->values[v].name;
    // A name that only a subgraph uses must not be given to a value of the main graph, which the
    // subgraph would see.
    const bool usable = !Holder(wanted).valid() && !reserved_.contains(wanted) &&
                        (!pool_.IsTaken(wanted) || original_names_.contains(wanted));
    Give(ValueId(v), usable ? wanted : pool_.Fresh(wanted));
  }
}

}  // namespace quotient::onnx
