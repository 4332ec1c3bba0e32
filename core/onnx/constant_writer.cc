#include "core/onnx/constant_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/attributes.h"
#include "core/onnx/data_file.h"
#include "core/onnx/external.h"
#include "core/onnx/tensor_walk.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {

using model::Tensor;

ConstantWriter::ConstantWriter(const Skeleton& skeleton, ValueNames& names,
                               bool prefers_initializers, GraphProto* graph)
    : skeleton_(skeleton),
      names_(names),
      may_add_initializers_(skeleton.proto.ir_version() >= 4),
      prefers_initializers_(prefers_initializers && may_add_initializers_),
      graph_(graph) {}

void ConstantWriter::Define(const std::string& name, const Tensor& tensor) {
  if (defined_.contains(name)) return;
  const auto original = skeleton_.constants.find(name);
  if (original != skeleton_.constants.end() &&
      model::SameContent(original->second.tensor, tensor)) {
    if (original->second.initializer >= 0) return DefineOriginal(original->second.initializer);
    if (!prefers_initializers_) {
      defined_.insert(name);
      *graph_->add_node() = skeleton_.proto.graph().node(original->second.node);
      return;
    }
  }
  defined_.insert(name);
  if (!may_add_initializers_) return AddConstantNode(name, tensor);
  AddInitializer(TensorHeader(name, tensor), tensor, /*original=*/-1);
}

std::string ConstantWriter::DefineParameter(const Tensor& tensor, const std::string& preferred,
                                            absl::string_view wanted) {
  if (IsOriginalConstant(skeleton_, preferred, tensor) && names_.MayName(preferred, tensor)) {
    Define(preferred, skeleton_.constants.at(preferred).tensor);
    return preferred;
  }
  const std::string key = absl::StrCat(model::ToString(tensor.type()), ":", BytesOf(tensor));
  const auto [known, inserted] = parameter_names_.emplace(key, "");
  if (inserted) {
    known->second = names_.Fresh(wanted);
    parameters_.push_back(tensor);
    Define(known->second, parameters_.back());
  }
  return known->second;
}

void ConstantWriter::DefineOriginal(int initializer) {
  const TensorProto& proto = skeleton_.proto.graph().initializer(initializer);
  if (!defined_.insert(proto.name()).second) return;
  if (const auto constant = skeleton_.constants.find(proto.name());
      constant != skeleton_.constants.end()) {
    return AddInitializer(proto, constant->second.tensor, initializer);
  }
  // The raw bytes that were set aside, for types that no Tensor can hold.
  absl::string_view bytes = skeleton_.raw_data[initializer];
  if (IsExternal(proto)) {
    // The default of an input is not a constant of the graph.
    bytes = ExternalBytes(proto, "", skeleton_.weights()).value_or("");
  }
  AddInitializer(proto, bytes, initializer);
}

void ConstantWriter::DefineSparse(const SparseTensorProto& sparse) {
  if (defined_.insert(sparse.values().name()).second) *graph_->add_sparse_initializer() = sparse;
}

void ConstantWriter::DefineOpaque(TensorProto proto) {
  if (!defined_.insert(proto.name()).second) return;
  absl::string_view bytes;
  if (IsExternal(proto)) bytes = ExternalBytes(proto, "", skeleton_.weights()).value_or("");
  AddInitializer(std::move(proto), bytes, /*original=*/-1);
}

void ConstantWriter::AddInitializer(TensorProto proto, const Tensor& tensor, int original) {
  AddInitializer(std::move(proto), BytesOf(tensor), original);
  initializers_.back().tensor = tensor;
}

void ConstantWriter::AddInitializer(TensorProto proto, absl::string_view bytes, int original) {
  // The file that the tensor refers to is not part of the result.
  if (IsExternal(proto)) ClearData(&proto);
  initializers_.push_back({std::move(proto), bytes, original, std::nullopt});
}

void ConstantWriter::AddConstantNode(const std::string& name, const Tensor& tensor) {
  NodeProto* node = graph_->add_node();
  node->set_op_type("Constant");
  node->add_output(name);
  *node->add_attribute() = WriteAttribute("value", model::Attribute(tensor));
}

bool ConstantWriter::NeedsDataFile(const WriteOptions& options, const ModelProto& model) const {
  if (skeleton_.has_external_data) return true;
  auto total = static_cast<int64_t>(model.ByteSizeLong());
  for (const Initializer& initializer : initializers_) {
    constexpr int64_t kFraming = 24;  // Bytes for tags and lengths.
    total += static_cast<int64_t>(initializer.proto.ByteSizeLong() + initializer.bytes.size());
    total += kFraming;
  }
  return total > options.max_inline_bytes;
}

absl::Status ConstantWriter::MoveOut(int64_t min_bytes, const Place& place, ModelProto* model) {
  for (Initializer& initializer : initializers_) {
    if (static_cast<int64_t>(initializer.bytes.size()) < min_bytes) continue;
    const Tensor* tensor = initializer.tensor.has_value() ? &*initializer.tensor : nullptr;
    const ExternalReference reference = place(initializer.bytes, tensor);
    ClearData(&initializer.proto);
    WriteExternalReference(reference, &initializer.proto);
    initializer.bytes = {};
  }
  // Tensors of opaque nodes and functions must not refer to the original's files either.
  return VisitNestedTensors(*model, [&](TensorProto& tensor, absl::string_view where) {
    if (!IsExternal(tensor)) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view bytes,
                              ExternalBytes(tensor, where, skeleton_.weights()));
    const ExternalReference reference = place(bytes, nullptr);
    ClearData(&tensor);
    WriteExternalReference(reference, &tensor);
    return absl::OkStatus();
  });
}

absl::Status ConstantWriter::ReferToWeights(const WriteOptions& options, ModelProto* model,
                                            WrittenModel* written) {
  const auto place = [written](absl::string_view bytes, const Tensor* tensor) {
    const Digest content = tensor != nullptr ? tensor->digest() : Digest::Of(bytes);
    const std::string location = absl::StrCat("weights/", content.Hex());
    const bool is_new = written->weights.emplace(location, bytes).second;
    if (is_new && tensor != nullptr) written->tensors.push_back(*tensor);
    return ExternalReference{location, 0, static_cast<int64_t>(bytes.size())};
  };
  return MoveOut(options.min_external_bytes, place, model);
}

absl::Status ConstantWriter::MoveToFile(const WriteOptions& options, ModelProto* model,
                                        WrittenModel* written) {
  if (!options.external_location.empty()) {
    QUOTIENT_RETURN_IF_ERROR(
        CheckExternalLocation(options.external_location, "external_location", skeleton_.limits));
  }
  DataFile file;
  const auto place = [&](absl::string_view bytes, const Tensor*) {
    return ExternalReference{options.external_location, file.Place(bytes),
                             static_cast<int64_t>(bytes.size())};
  };
  QUOTIENT_RETURN_IF_ERROR(MoveOut(options.min_external_bytes, place, model));
  if (file.is_used() && options.external_location.empty()) {
    return MakeError(Reason::kOptionInvalid,
                     "external_location: the result needs external data and may not have any");
  }
  written->external_data = file.Write();
  return absl::OkStatus();
}

absl::Status ConstantWriter::Finish(const WriteOptions& options, ModelProto* model,
                                    WrittenModel* written) {
  if (options.refer_to_weights) {
    QUOTIENT_RETURN_IF_ERROR(ReferToWeights(options, model, written));
  } else if (NeedsDataFile(options, *model)) {
    QUOTIENT_RETURN_IF_ERROR(MoveToFile(options, model, written));
  }
  std::stable_sort(initializers_.begin(), initializers_.end(),
                   [](const Initializer& a, const Initializer& b) {
                     return static_cast<unsigned>(a.original) < static_cast<unsigned>(b.original);
                   });
  for (Initializer& initializer : initializers_) {
    TensorProto* tensor = graph_->add_initializer();
    *tensor = std::move(initializer.proto);
    if (!initializer.bytes.empty()) SetInlineBytes(initializer.bytes, tensor);
  }
  return absl::OkStatus();
}

}  // namespace quotient::onnx
