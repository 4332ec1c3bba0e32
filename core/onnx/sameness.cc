#include "core/onnx/sameness.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/function_key.h"
#include "core/onnx/proto.h"
#include "core/onnx/schema.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/tensor_walk.h"

namespace quotient::onnx {
namespace {

using model::Opaque;

bool HasExternalWeights(NodeProto& node) {
  const absl::Status all_inside = VisitTensors(node, [](TensorProto& tensor, absl::string_view) {
    return IsExternal(tensor) ? absl::UnavailableError("external") : absl::OkStatus();
  });
  return !all_inside.ok();
}

// The node without what makes no difference. Empty if it cannot be compared.
std::string NodeContent(const std::string& bytes) {
  NodeProto node;
  if (!node.ParseFromString(bytes) || HasExternalWeights(node)) return "";
  node.clear_name();
  node.clear_input();
  node.clear_output();
  node.clear_doc_string();
  node.clear_metadata_props();
  std::sort(node.mutable_attribute()->begin(), node.mutable_attribute()->end(),
            [](const AttributeProto& a, const AttributeProto& b) { return a.name() < b.name(); });
  return absl::StrCat("node ", node.SerializeAsString());
}

std::string InitializerContent(const std::string& bytes) {
  TensorProto tensor;
  if (!tensor.ParseFromString(bytes) || IsExternal(tensor)) return "";
  tensor.clear_name();
  tensor.clear_doc_string();
  return absl::StrCat("initializer ", tensor.SerializeAsString());
}

std::string SparseContent(const std::string& bytes) {
  SparseTensorProto sparse;
  if (!sparse.ParseFromString(bytes)) return "";
  if (IsExternal(sparse.values()) || IsExternal(sparse.indices())) return "";
  sparse.mutable_values()->clear_name();
  sparse.mutable_indices()->clear_name();
  return absl::StrCat("sparse initializer ", sparse.SerializeAsString());
}

std::string ContentOf(const Opaque& opaque) {
  switch (opaque.kind) {
    case Opaque::Kind::kNode:
      return NodeContent(opaque.proto);
    case Opaque::Kind::kInitializer:
      return InitializerContent(opaque.proto);
    case Opaque::Kind::kSparseInitializer:
      return SparseContent(opaque.proto);
  }
  return "";
}

// The bodies of a model's functions.
std::map<FunctionKey, std::string> BodiesOf(const ModelProto& model) {
  std::map<FunctionKey, std::string> bodies;
  for (const FunctionProto& function : model.functions()) {
    bodies.emplace(FunctionKeyOf(function), function.SerializeAsString());
  }
  return bodies;
}

// The type without names of dimensions.
std::string Nameless(TypeProto type) {
  TypeProto* at = &type;
  while (at->has_sequence_type() || at->has_optional_type()) {
    at = at->has_sequence_type() ? at->mutable_sequence_type()->mutable_elem_type()
                                 : at->mutable_optional_type()->mutable_elem_type();
  }
  if (at->has_tensor_type()) {
    for (auto& dim : *at->mutable_tensor_type()->mutable_shape()->mutable_dim())
      dim.clear_dim_param();
  }
  return type.SerializeAsString();
}

// The first key that both maps have with other values.
template <typename Key, typename Value>
std::optional<Key> FirstConflict(const std::map<Key, Value>& first,
                                 const std::map<Key, Value>& second) {
  for (const auto& [key, value] : first) {
    const auto found = second.find(key);
    if (found != second.end() && found->second != value) return key;
  }
  return std::nullopt;
}

// Imports of domains other than the default one, whose operators have versions of their own.
std::map<std::string, int64_t> OtherImports(const Model& model) {
  std::map<std::string, int64_t> imports = model.opset_imports;
  imports.erase("");
  return imports;
}

const TypeProto* TypeOfInput(const Model& model, absl::string_view name) {
  for (const ValueInfoProto& input : model.skeleton->proto.graph().input()) {
    if (input.name() == name) return &input.type();
  }
  return nullptr;
}

}  // namespace

bool SameContent(const Opaque& first, const Opaque& second) {
  const std::string content = ContentOf(first);
  return !content.empty() && content == ContentOf(second);
}

std::string WhyContextsDiffer(const Model& first, const Model& second) {
  using Versions = std::map<std::string, int>;
  const Versions mine(first.skeleton->opaque_ops.begin(), first.skeleton->opaque_ops.end());
  const Versions others(second.skeleton->opaque_ops.begin(), second.skeleton->opaque_ops.end());
  for (const auto& [op, opset] : mine) {
    const auto found = others.find(op);
    if (found != others.end() && !SameMeaning(op, opset, found->second)) {
      return absl::StrCat("the operator ", op, " is of another version");
    }
  }
  if (const auto domain = FirstConflict(OtherImports(first), OtherImports(second))) {
    return absl::StrCat("another version of the domain '", *domain, "' is imported");
  }
  const auto bodies = BodiesOf(first.skeleton->proto);
  const auto others_bodies = BodiesOf(second.skeleton->proto);
  if (const auto key = FirstConflict(bodies, others_bodies)) {
    return absl::StrCat("the function '", std::get<1>(*key), "' is another one");
  }
  for (const auto& [key, body] : bodies) {
    if (!others_bodies.contains(key)) {
      return absl::StrCat("there is no function '", std::get<1>(key), "' any more");
    }
  }
  return "";
}

bool DeclareSameInput(const Model& first, const Model& second, absl::string_view name) {
  const TypeProto* const mine = TypeOfInput(first, name);
  const TypeProto* const other = TypeOfInput(second, name);
  if (mine == nullptr || other == nullptr) return mine == other;
  return Nameless(*mine) == Nameless(*other);
}

}  // namespace quotient::onnx
