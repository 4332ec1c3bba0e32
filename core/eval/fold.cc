#include "core/eval/fold.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/eval/fold_cache.h"
#include "core/eval/stop_error.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient::eval {
namespace {

using model::DType;
using model::Graph;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::TensorType;
using model::ValueId;

// A constant, and the number of bytes of the model's own constants that it comes from.
struct Known {
  Tensor tensor;
  int64_t origin_bytes;
};

// The size of all constants of the model.
int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += static_cast<int64_t>(value.constant->bytes().size());
  }
  return bytes;
}

int64_t Times(int64_t a, int64_t b) {
  return CheckedMul(a, b).value_or(std::numeric_limits<int64_t>::max());
}

// The multiply-adds of an operator that multiplies matrices.
int64_t MultiplyAdds(const ops::OpDef& def, const model::AttributeMap& attributes,
                     std::span<const TensorType* const> inputs, const TensorType& output) {
  const bool has_second = inputs.size() > 1 && inputs[1] != nullptr;
  const ops::Products products = def.contraction.products(
      attributes, inputs[0]->dims(), has_second ? inputs[1]->dims() : ops::Dims(), output.dims());
  const double count = products.batch * products.m * products.n * products.k;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return count < 0x1p62 ? static_cast<int64_t>(count) : kMost;
}

int64_t NodeOperations(const Graph& graph, const Node& node) {
  const auto types_of = [&graph](const std::vector<ValueId>& ids) {
    std::vector<const TensorType*> types;
    for (ValueId id : ids) types.push_back(id.valid() ? &graph.value(id).type : nullptr);
    return types;
  };
  return Operations(node.op, node.attributes, types_of(node.inputs), types_of(node.outputs));
}

class Folder {
 public:
  Folder(Graph& graph, const FoldLimits& limits)
      : graph_(graph),
        limits_(limits),
        inference_(graph),
        forwarded_(graph.values.size()),
        scratch_(graph.values.size()),
        origin_bytes_(graph.values.size()),
        left_to_store_(kMostGrowth * ConstantBytes(graph) + limits.max_scratch_bytes) {}

  absl::Status Visit(NodeId id);

 private:
  // Stored results take at most this many times the bytes of the model's own constants, plus
  // max_scratch_bytes. A weight that goes through several nodes is stored after each.
  static constexpr int64_t kMostGrowth = 8;

  void RedirectInputs(Node& node);
  bool Forward(const Node& node);
  bool FoldElements(const Node& node);
  void FoldByEvaluation(const Node& node);
  absl::StatusOr<std::vector<Tensor>> Evaluate(const Node& node,
                                               std::span<const Tensor* const> inputs) const;
  bool IsWorthEvaluating(const Node& node, int64_t origin_bytes) const;
  std::optional<Known> KnownValue(ValueId id) const;
  bool MayStore(int64_t bytes, int64_t origin_bytes) const;
  void Keep(ValueId id, Known known);
  void MakeConstant(ValueId id, Tensor tensor);

  Graph& graph_;
  const FoldLimits& limits_;
  ops::GraphInference inference_;
  std::vector<ValueId> forwarded_;             // By value: an equal earlier value, or invalid.
  std::vector<std::optional<Known>> scratch_;  // By value: computed, but too large to be stored.
  int64_t scratch_bytes_ = 0;
  std::vector<std::optional<int64_t>> origin_bytes_;  // By value: for stored results.
  int64_t left_to_store_;
};

absl::Status Folder::Visit(NodeId id) {
  Node& node = graph_.node(id);
  // An opaque node refers to its inputs by name, so they must not be replaced.
  if (node.is_opaque()) return inference_.Visit(id);
  RedirectInputs(node);
  QUOTIENT_RETURN_IF_ERROR(inference_.Visit(id));
  if (!Forward(node) && !FoldElements(node)) FoldByEvaluation(node);
  return absl::OkStatus();
}

void Folder::RedirectInputs(Node& node) {
  for (ValueId& input : node.inputs) {
    if (input.valid() && forwarded_[input.value()].valid()) input = forwarded_[input.value()];
  }
}

// Makes readers of an Identity or Dropout read its input. The node stays only for graph outputs and
// opaque readers. If the input is constant it is folded instead, which serves these, too.
bool Folder::Forward(const Node& node) {
  if (ops::FindOp(node.op)->movement != ops::Movement::kCopy) return false;
  const ValueId input = node.inputs[0];
  if (!node.outputs[0].valid() || graph_.is_constant(input)) return false;
  model::Value& source = graph_.value(input);
  source.type = model::Refine(source.type, graph_.value(node.outputs[0]).type);
  forwarded_[node.outputs[0].value()] = input;
  return true;
}

bool Folder::FoldElements(const Node& node) {
  if (node.outputs.size() != 1 || !node.outputs[0].valid()) return false;
  const ops::Elements* elements = inference_.elements(node.outputs[0]);
  if (elements == nullptr) return false;
  std::optional<Tensor> tensor = ops::TensorOf(*elements, graph_.value(node.outputs[0]).type);
  if (!tensor.has_value()) return false;
  MakeConstant(node.outputs[0], *std::move(tensor));
  return true;
}

std::optional<Known> Folder::KnownValue(ValueId id) const {
  if (scratch_[id.value()].has_value()) return scratch_[id.value()];
  const std::optional<Tensor>& constant = graph_.value(id).constant;
  if (!constant.has_value()) return std::nullopt;
  const auto own_bytes = static_cast<int64_t>(constant->bytes().size());
  return Known{*constant, origin_bytes_[id.value()].value_or(own_bytes)};
}

bool Folder::MayStore(int64_t bytes, int64_t origin_bytes) const {
  return bytes <= std::max(origin_bytes, limits_.max_result_bytes) && bytes <= left_to_store_;
}

bool Folder::IsWorthEvaluating(const Node& node, int64_t origin_bytes) const {
  int64_t bytes = 0;
  for (ValueId id : node.outputs) {
    if (!id.valid()) continue;
    const TensorType& type = graph_.value(id).type;
    if (!type.is_static()) return false;
    const std::optional<int64_t> size = Tensor::ByteSize(type.dtype, type.dims());
    if (!size.has_value() || __builtin_add_overflow(bytes, *size, &bytes)) return false;
  }
  const bool can_be_kept =
      MayStore(bytes, origin_bytes) || bytes <= limits_.max_scratch_bytes - scratch_bytes_;
  return can_be_kept && NodeOperations(graph_, node) <= limits_.max_operations;
}

void Folder::FoldByEvaluation(const Node& node) {
  const ops::OpDef* const def = ops::FindOp(node.op);
  if (def != nullptr && def->stays_in_model && !limits_.fold_what_stays) return;
  std::vector<Known> known;
  std::vector<const Tensor*> inputs;
  known.reserve(node.inputs.size());  // `inputs` points into it.
  absl::flat_hash_set<ValueId> origins;
  int64_t origin_bytes = 0;
  for (ValueId id : node.inputs) {
    inputs.push_back(nullptr);
    if (!id.valid()) continue;
    std::optional<Known> input = KnownValue(id);
    if (!input.has_value()) return;
    if (origins.insert(id).second) origin_bytes += input->origin_bytes;
    known.push_back(*std::move(input));
    inputs.back() = &known.back().tensor;
  }
  if (!IsWorthEvaluating(node, origin_bytes)) return;
  absl::StatusOr<std::vector<Tensor>> outputs = Evaluate(node, inputs);
  if (!outputs.ok()) return;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) Keep(node.outputs[i], {std::move((*outputs)[i]), origin_bytes});
  }
}

absl::StatusOr<std::vector<Tensor>> Folder::Evaluate(const Node& node,
                                                     std::span<const Tensor* const> inputs) const {
  // To look a small one up takes as long as to compute it.
  constexpr int64_t kLeastElements = 1 << 10;
  const bool is_small = std::ranges::all_of(inputs, [](const Tensor* input) {
    return input == nullptr || input->elements() < kLeastElements;
  });
  if (limits_.cache == nullptr || is_small) return ops::FoldNode(node, inputs, limits_.threads);
  const Digest key = FoldCache::KeyOf(node, inputs);
  if (const std::vector<Tensor>* known = limits_.cache->Find(key)) return *known;
  absl::StatusOr<std::vector<Tensor>> outputs = ops::FoldNode(node, inputs, limits_.threads);
  if (outputs.ok()) limits_.cache->Add(key, *outputs);
  return outputs;
}

void Folder::Keep(ValueId id, Known known) {
  const int64_t bytes = static_cast<int64_t>(known.tensor.bytes().size());
  if (MayStore(bytes, known.origin_bytes)) {
    left_to_store_ -= bytes;
    origin_bytes_[id.value()] = known.origin_bytes;
    MakeConstant(id, std::move(known.tensor));
  } else {
    scratch_bytes_ += bytes;
    scratch_[id.value()] = std::move(known);
  }
}

// Removes the output from its producer, which dies when it has lost all outputs.
void Folder::MakeConstant(ValueId id, Tensor tensor) {
  model::Value& value = graph_.value(id);
  Node& producer = graph_.node(value.producer);
  producer.outputs[static_cast<size_t>(value.output_index)] = ValueId();
  value.producer = NodeId();
  value.output_index = 0;
  value.type = tensor.type();
  value.constant = std::move(tensor);
}

}  // namespace

int64_t Operations(absl::string_view op, const model::AttributeMap& attributes,
                   std::span<const TensorType* const> inputs,
                   std::span<const TensorType* const> outputs) {
  const auto largest = [](std::span<const TensorType* const> types) {
    int64_t elements = 0;
    for (const TensorType* type : types) {
      if (type != nullptr) elements = std::max(elements, type->elements());
    }
    return elements;
  };
  const int64_t made = largest(outputs);
  const ops::OpDef& def = *ops::FindOp(op);
  if (def.contraction.products != nullptr) {
    return MultiplyAdds(def, attributes, inputs, *outputs[0]);
  }
  if (def.op_class == ops::OpClass::kWindow) {
    return Times(made, CheckedProduct(attributes.GetInts("kernel_shape"))
                           .value_or(std::numeric_limits<int64_t>::max()));
  }
  return made + largest(inputs);
}

absl::Status FoldConstants(Graph& graph, const FoldLimits& limits, const StopCondition& stop) {
  graph = model::Compact(graph);
  Folder folder(graph, limits);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (stop.ShouldStop()) return StopError(stop.Check());
    QUOTIENT_RETURN_IF_ERROR(folder.Visit(NodeId(i)));
  }
  graph = model::Compact(graph);
  return absl::OkStatus();
}

}  // namespace quotient::eval
