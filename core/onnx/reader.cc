#include "core/onnx/reader.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/build_graph.h"
#include "core/onnx/errors.h"
#include "core/onnx/inline_functions.h"
#include "core/onnx/opset.h"
#include "core/onnx/parse.h"
#include "core/onnx/schema.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/structure.h"
#include "core/onnx/tensor_walk.h"

namespace quotient::onnx {
namespace {

absl::Status CheckIrVersion(int64_t version) {
  if (version >= 0 && version <= NewestIrVersion()) return absl::OkStatus();
  return ErrorAt(
      Reason::kOpsetUnknown, "model",
      absl::StrCat("IR version ", version, ", understood are those up to ", NewestIrVersion()));
}

// The inputs that have an initializer and can therefore be overridden. There are none before IR
// version 4, where every initializer had to be listed as an input and still was a constant.
std::vector<int> OverridableInputs(const ModelProto& model) {
  std::vector<int> inputs;
  if (model.ir_version() < 4) return inputs;
  absl::flat_hash_set<absl::string_view> initializers;
  for (const TensorProto& tensor : model.graph().initializer()) initializers.insert(tensor.name());
  for (const SparseTensorProto& sparse : model.graph().sparse_initializer()) {
    initializers.insert(sparse.values().name());
  }
  for (int i = 0; i < model.graph().input_size(); ++i) {
    if (initializers.contains(model.graph().input(i).name())) inputs.push_back(i);
  }
  return inputs;
}

// Removes the overridable inputs from the graph's inputs, and returns their number.
int64_t FreezeInitializers(ModelProto& model) {
  const std::vector<int> overridable = OverridableInputs(model);
  const absl::flat_hash_set<int> gone(overridable.begin(), overridable.end());
  auto& inputs = *model.mutable_graph()->mutable_input();
  int kept = 0;
  for (int i = 0; i < inputs.size(); ++i) {
    if (!gone.contains(i)) inputs.SwapElements(i, kept++);
  }
  inputs.DeleteSubrange(kept, inputs.size() - kept);
  return std::ssize(overridable);
}

// Makes outputs of the values to keep that are none. Returns how many were added.
absl::StatusOr<int> KeepValues(const std::vector<std::string>& kept, GraphProto& graph) {
  absl::flat_hash_set<std::string> values;
  for (const ValueInfoProto& input : graph.input()) values.insert(input.name());
  for (const TensorProto& tensor : graph.initializer()) values.insert(tensor.name());
  for (const SparseTensorProto& sparse : graph.sparse_initializer()) {
    values.insert(sparse.values().name());
  }
  for (const NodeProto& node : graph.node()) {
    values.insert(node.output().begin(), node.output().end());
  }
  absl::flat_hash_set<std::string> outputs;
  for (const ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  int added = 0;
  for (const std::string& name : kept) {
    if (name.empty() || !values.contains(name)) {
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("keep: the model has no value '", Escaped(name), "'"));
    }
    if (!outputs.insert(name).second) continue;
    graph.add_output()->set_name(name);
    ++added;
  }
  return added;
}

// Checks the size and data of every tensor in the model.
absl::Status CheckTensors(Skeleton& skeleton) {
  const WeightSource source = skeleton.weights();
  auto& initializers = *skeleton.proto.mutable_graph()->mutable_initializer();
  for (int i = 0; i < initializers.size(); ++i) {
    const std::string where = absl::StrCat("initializer '", Escaped(initializers[i].name()), "'");
    QUOTIENT_RETURN_IF_ERROR(CheckTensor(initializers[i], skeleton.raw_data[i], where, source));
    skeleton.has_external_data |= IsExternal(initializers[i]);
  }
  return VisitNestedTensors(skeleton.proto, [&](TensorProto& tensor, absl::string_view where) {
    skeleton.has_external_data |= IsExternal(tensor);
    return CheckTensor(tensor, /*raw_data=*/"", where, source);
  });
}

void DescribeModel(const Skeleton& skeleton, Model& model) {
  const ModelProto& proto = skeleton.proto;
  model.ir_version = proto.ir_version();
  model.opset = skeleton.opset;
  for (const auto& import : proto.opset_import()) {
    model.opset_imports[std::string(CanonicalDomain(import.domain()))] = import.version();
  }
  for (const NodeProto& node : proto.graph().node()) {
    const absl::string_view domain = CanonicalDomain(node.domain());
    ++model.op_counts[absl::StrCat(domain, domain.empty() ? "" : ".", node.op_type())];
  }
  model.producer = proto.producer_name();
  if (!proto.producer_version().empty()) {
    absl::StrAppend(&model.producer, " ", proto.producer_version());
  }
  model.has_external_data = skeleton.has_external_data;
  model.objections = skeleton.objections;
  model.inner_values = skeleton.inner_values;
  model.kept_values = skeleton.kept_values;
}

}  // namespace

absl::StatusOr<Model> Read(absl::string_view model_bytes,
                           const std::map<std::string, absl::string_view>& external_data,
                           const Limits& limits, std::shared_ptr<const void> owner,
                           const ReadOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(ParsedModel parsed, ParseModel(model_bytes, limits));
  auto skeleton = std::make_shared<Skeleton>();
  skeleton->proto = std::move(parsed.proto);
  skeleton->raw_data = std::move(parsed.raw_data);
  skeleton->files = external_data;
  skeleton->limits = limits;
  skeleton->owner = std::move(owner);

  // Malformed models are refused before it is checked whether the model is supported.
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<int> order, CheckStructure(skeleton->proto, limits));
  QUOTIENT_RETURN_IF_ERROR(CheckTensors(*skeleton));
  QUOTIENT_RETURN_IF_ERROR(CheckIrVersion(skeleton->proto.ir_version()));
  QUOTIENT_ASSIGN_OR_RETURN(skeleton->opset, CheckOpsets(skeleton->proto));

  if (!options.kept_values.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(skeleton->kept_values,
                              KeepValues(options.kept_values, *skeleton->proto.mutable_graph()));
  }

  Model model;
  if (options.freeze_initializers) model.frozen_initializers = FreezeInitializers(skeleton->proto);
  model.overridable_initializers = std::ssize(OverridableInputs(skeleton->proto));
  model.inlined_calls = InlineFunctions(skeleton->opset, limits, &skeleton->proto);
  if (model.inlined_calls > 0) {
    QUOTIENT_ASSIGN_OR_RETURN(order, CheckStructure(skeleton->proto, limits));
  }
  QUOTIENT_ASSIGN_OR_RETURN(model.graph, BuildGraph(order, options, *skeleton));
  skeleton->opaque_ops = OpaqueOperators(model.graph, *skeleton);
  QUOTIENT_RETURN_IF_ERROR(model::Validate(model.graph));
  DescribeModel(*skeleton, model);
  model.skeleton = std::move(skeleton);
  return model;
}

}  // namespace quotient::onnx
