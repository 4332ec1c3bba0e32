// Inference and evaluation of single nodes: the code around each operator's own functions.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/ops/certain.h"
#include "core/ops/op.h"
#include "core/ops/polynomial.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::DType;
using model::Node;
using model::Tensor;
using model::TensorType;

// A larger tensor is an error of the model, not a reason to run out of memory.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 34;

// Ranks can add up (Gather), so a few nodes could request a rank of millions.
constexpr int kMaxRank = 64;

absl::Status CheckSize(const TensorType& type) {
  if (type.has_rank() && type.rank() > kMaxRank) {
    return MakeError(Reason::kLimitDims,
                     absl::StrCat("an output of rank ", type.rank(), ", the limit is ", kMaxRank));
  }
  if (!type.is_static()) return absl::OkStatus();
  if (!Tensor::ByteSize(type.dtype, type.dims()).has_value()) {
    return MakeError(Reason::kLimitDims,
                     absl::StrCat("a ", model::ToString(type), " has too many elements"));
  }
  return absl::OkStatus();
}

bool HoldsElements(const TensorType& type) {
  return type.dtype == DType::kInt64 || type.dtype == DType::kInt32 || type.dtype == DType::kBool;
}

// Whether an element of the type can have that value. Elements that overflow wrap, so they are
// better left unknown.
bool Holds(DType dtype, int64_t number) {
  if (dtype == DType::kBool) return number == 0 || number == 1;
  return dtype != DType::kInt32 || number == static_cast<int32_t>(number);
}

absl::Status CheckComputable(const TensorType& type) {
  if (model::IsComputable(type.dtype)) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("tensors of ", model::DTypeName(type.dtype), " are not evaluated"));
}

// The tensors that a node reads, in the form that inference needs.
struct KnownInputs {
  explicit KnownInputs(std::span<const Tensor* const> tensors)
      : types(tensors.size()), elements(tensors.size()), inputs(tensors.size()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] == nullptr) continue;
      types[i] = tensors[i]->type();
      elements[i] = ElementsOf(*tensors[i]);
      inputs[i] = {&types[i], tensors[i], elements[i].has_value() ? &*elements[i] : nullptr};
    }
  }

  std::vector<TensorType> types;
  std::vector<std::optional<Elements>> elements;
  std::vector<InferInput> inputs;
};

// The types of a canonical node's outputs. Fails unless all are static and can be allocated.
absl::StatusOr<std::vector<TensorType>> StaticOutputTypes(const OpDef& op, const Node& node,
                                                          std::span<const InferInput> inputs) {
  const InferContext context{node.attributes, inputs, static_cast<int>(node.outputs.size())};
  QUOTIENT_ASSIGN_OR_RETURN(InferResult inferred, InferNode(op, context));
  for (const TensorType& type : inferred.types) {
    QUOTIENT_RETURN_IF_ERROR(CheckComputable(type));
    if (!type.is_static()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the type of an output, ", model::ToString(type), ", is not known in full"));
    }
    if (type.bytes() > kMaxTensorBytes) {
      return MakeError(Reason::kLimitBytes,
                       absl::StrCat("an output of type ", model::ToString(type), " is too large"));
    }
  }
  return std::move(inferred.types);
}

bool HasNoElements(std::span<const TensorType> types) {
  return std::all_of(types.begin(), types.end(),
                     [](const TensorType& type) { return Count(type.dims()) == 0; });
}

std::vector<Tensor> EmptyTensors(std::span<const TensorType> types) {
  std::vector<Tensor> tensors;
  for (const TensorType& type : types) tensors.push_back(NewTensor(type).tensor);
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> Evaluate(const Node& node,
                                             std::span<const Tensor* const> inputs, int threads,
                                             bool must_be_certain) {
  const OpDef* op = FindOp(node.op);
  if (op == nullptr || op->evaluate == nullptr) {
    return absl::UnimplementedError(absl::StrCat("operator ", node.op, " is not evaluated"));
  }
  KnownInputs known(inputs);
  for (const TensorType& type : known.types) {
    if (type.dtype != DType::kUndefined) QUOTIENT_RETURN_IF_ERROR(CheckComputable(type));
  }
  Node canonical;
  canonical.op = node.op;
  canonical.attributes = node.attributes;
  canonical.inputs = node.inputs;
  canonical.outputs = node.outputs;
  QUOTIENT_RETURN_IF_ERROR(Canonicalize(canonical, known.inputs));
  op = FindOp(canonical.op);
  if (op->accepts != nullptr && !op->accepts(canonical)) {
    return absl::UnimplementedError(
        absl::StrCat(node.op, model::ToString(canonical.attributes), " is not evaluated"));
  }
  std::vector<const Tensor*> tensors(std::max<size_t>(canonical.inputs.size(), op->min_inputs));
  std::vector<InferInput> infer_inputs(tensors.size());
  for (size_t i = 0; i < canonical.inputs.size(); ++i) {
    if (!canonical.inputs[i].valid()) continue;
    tensors[i] = inputs[i];
    infer_inputs[i] = known.inputs[i];
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                            StaticOutputTypes(*op, canonical, infer_inputs));
  const EvaluateContext context{canonical.attributes, tensors, types, threads};
  // Empty outputs skip the evaluator, which may do work per axis: an axis of an empty tensor can
  // have any length.
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                            HasNoElements(types) ? EmptyTensors(types) : op->evaluate(context));
  if (must_be_certain && !IsCertain(*op, context, outputs)) {
    return absl::FailedPreconditionError(
        absl::StrCat("runtimes may differ on this ", canonical.op));
  }
  return outputs;
}

}  // namespace

std::optional<Elements> ElementsOf(const Tensor& tensor) {
  if (!HoldsElements(tensor.type()) || tensor.elements() > kMaxElements) return std::nullopt;
  Elements elements;
  for (int64_t value : tensor.AsInts()) elements.push_back(value);
  return elements;
}

absl::StatusOr<InferResult> InferNode(const OpDef& op, const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, op.infer(context));
  result.types.resize(context.num_outputs);
  for (const TensorType& type : result.types) QUOTIENT_RETURN_IF_ERROR(CheckSize(type));
  if (result.elements.has_value()) {
    const bool fits = !result.types.empty() && result.types[0].is_static() &&
                      HoldsElements(result.types[0]) &&
                      result.types[0].elements() == static_cast<int64_t>(result.elements->size());
    if (!fits || result.elements->size() > kMaxElements) result.elements.reset();
  }
  if (result.elements.has_value()) {
    const DType dtype = result.types[0].dtype;
    for (Element& element : *result.elements) {
      // What was computed from sizes may be too large for other types, though no size is.
      const bool may_wrap = dtype != DType::kInt64 && Polynomial::IsComputed(element.AsDim());
      const bool wraps = element.is_number() && !Holds(dtype, element.number());
      if (may_wrap || wraps) element = Element();
    }
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                                 std::span<const Tensor* const> inputs,
                                                 int threads) {
  return Evaluate(node, inputs, threads, /*must_be_certain=*/false);
}

absl::StatusOr<std::vector<Tensor>> FoldNode(const Node& node,
                                             std::span<const Tensor* const> inputs, int threads) {
  return Evaluate(node, inputs, threads, /*must_be_certain=*/true);
}

}  // namespace quotient::ops
