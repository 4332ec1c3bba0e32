#include "core/onnx/descriptions.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "core/onnx/schema.h"
#include "core/onnx/types.h"

namespace quotient::onnx {
namespace {

using model::TensorType;
using model::ValueId;

// Whether the result has a value of this name, with the same meaning as in the original.
bool IsPresent(const WrittenGraph& written, const ConstantWriter& constants,
               const std::string& name) {
  if (constants.IsDefined(name)) return true;
  const ValueId holder = written.names.Holder(name);
  return holder.valid() && !written.graph.value(holder).constant.has_value();
}

// Whether a dimension was declared as a number and inference finds another number or a symbol of
// the inputs. If inference does not know the dimension, the declaration is kept.
bool IsStale(const model::Dim& declared, const model::Dim& inferred) {
  const bool known = !absl::StartsWith(inferred.symbol(), model::kInferredSymbol);
  return declared.is_number() && !inferred.is_unknown() && known && declared != inferred;
}

bool IsStale(const TensorType& declared, const TensorType& inferred) {
  if (declared.dtype != inferred.dtype && declared.dtype != model::DType::kUndefined) return true;
  if (!declared.has_rank() || !inferred.has_rank()) return false;
  if (declared.rank() != inferred.rank()) return true;
  for (int axis = 0; axis < declared.rank(); ++axis) {
    if (IsStale(declared.dim(axis), inferred.dim(axis))) return true;
  }
  return false;
}

bool IsDescribedRightly(const WrittenGraph& written, const ConstantWriter& constants,
                        const ValueInfoProto& info) {
  if (!IsPresent(written, constants, info.name())) return false;
  const ValueId holder = written.names.Holder(info.name());
  if (!holder.valid()) return true;
  const TensorType& type = written.graph.value(holder).type;
  const auto declared = ReadType(info.type(), "", written.skeleton.limits);
  if (!declared.ok() || !declared->computable || type.dtype == model::DType::kUndefined) {
    return declared.ok();
  }
  return !IsStale(declared->type, type);
}

template <typename Messages, typename Keep>
void KeepIf(Messages* messages, const Keep& keep) {
  int kept = 0;
  for (int i = 0; i < messages->size(); ++i) {
    if (!keep(messages->Get(i))) continue;
    if (i != kept) messages->SwapElements(i, kept);
    ++kept;
  }
  messages->DeleteSubrange(kept, messages->size() - kept);
}

void BindType(const TensorType& type, TypeProto* proto) {
  if (!type.has_rank() || !proto->has_tensor_type()) return;
  const bool had_rank = proto->tensor_type().has_shape();
  auto& dims = *proto->mutable_tensor_type()->mutable_shape()->mutable_dim();
  if (!had_rank) {
    for (int axis = 0; axis < type.rank(); ++axis) dims.Add();
  }
  if (dims.size() != type.rank()) return;
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (type.dim(axis).is_number()) dims[axis].set_dim_value(type.dim(axis).number());
  }
}

void BindTypes(const WrittenGraph& written, GraphProto* out) {
  const auto bind = [&written](auto* infos) {
    for (ValueInfoProto& info : *infos) {
      const ValueId holder = written.names.Holder(info.name());
      if (holder.valid()) BindType(written.graph.value(holder).type, info.mutable_type());
    }
  };
  bind(out->mutable_input());
  bind(out->mutable_output());
  bind(out->mutable_value_info());
}

// The names of initializers that are kept even if no node reads them.
absl::flat_hash_set<std::string> NamesToKeep(const WrittenGraph& written, const GraphProto& out) {
  absl::flat_hash_set<std::string> names;
  const ModelProto& model = written.skeleton.proto;
  for (const ValueInfoProto& input : out.input()) names.insert(input.name());
  for (const auto& annotation : out.quantization_annotation()) {
    for (const auto& entry : annotation.quant_parameter_tensor_names()) names.insert(entry.value());
  }
  if (!model.training_info().empty()) {
    for (const TensorProto& tensor : model.graph().initializer()) names.insert(tensor.name());
    for (const SparseTensorProto& sparse : model.graph().sparse_initializer()) {
      names.insert(sparse.values().name());
    }
  }
  return names;
}

bool NameIsFree(const WrittenGraph& written, const std::string& name) {
  const ValueId holder = written.names.Holder(name);
  if (!holder.valid()) return true;
  // The default of an input keeps its name, and so does a constant with the original content.
  const model::Value& value = written.graph.value(holder);
  if (!value.producer.valid() && !value.constant.has_value()) return true;
  const auto constant = written.skeleton.constants.find(name);
  return constant != written.skeleton.constants.end() &&
         written.names.MayName(name, constant->second.tensor);
}

}  // namespace

void SetOpset(int opset, ModelProto* model) {
  for (auto& import : *model->mutable_opset_import()) {
    if (CanonicalDomain(import.domain()).empty()) import.set_version(opset);
  }
}

void KeepDescriptions(const WrittenGraph& written, ConstantWriter& constants, GraphProto* out) {
  KeepIf(out->mutable_quantization_annotation(), [&](const auto& annotation) {
    return IsPresent(written, constants, annotation.tensor_name());
  });
  const absl::flat_hash_set<std::string> keep = NamesToKeep(written, *out);
  const GraphProto& original = written.skeleton.proto.graph();
  for (int i = 0; i < original.initializer_size(); ++i) {
    const std::string& name = original.initializer(i).name();
    if (keep.contains(name) && NameIsFree(written, name)) constants.DefineOriginal(i);
  }
  for (const SparseTensorProto& sparse : original.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    if (keep.contains(name) && NameIsFree(written, name)) constants.DefineSparse(sparse);
  }
  KeepIf(out->mutable_value_info(),
         [&](const ValueInfoProto& info) { return IsDescribedRightly(written, constants, info); });
  if (written.bind_types) BindTypes(written, out);
}

void AnnotateTypes(const model::Graph& graph, const ValueNames& names, GraphProto* out) {
  absl::flat_hash_set<std::string> described;
  for (const ValueInfoProto& info : out->output()) described.insert(info.name());
  for (ValueInfoProto& info : *out->mutable_value_info()) {
    described.insert(info.name());
    const ValueId holder = names.Holder(info.name());
    if (holder.valid()) BindType(graph.value(holder).type, info.mutable_type());
  }
  for (const NodeProto& node : out->node()) {
    for (const std::string& name : node.output()) {
      const ValueId holder = names.Holder(name);
      if (!holder.valid() || !described.insert(name).second) continue;
      const TensorType& type = graph.value(holder).type;
      if (!type.has_rank() || type.dtype == model::DType::kUndefined) continue;
      DescribeValue(name, type, out->add_value_info());
    }
  }
}

}  // namespace quotient::onnx
