#include "core/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/kernels/layout.h"
#include "core/kernels/partition.h"
#include "core/kernels/storage.h"

namespace quotient::kernels {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::TensorType;
using model::ValueId;

std::vector<int64_t> Permuted(const std::vector<int64_t>& dims, const model::Ints& permutation) {
  std::vector<int64_t> permuted;
  for (const int64_t axis : permutation) permuted.push_back(dims[axis]);
  return permuted;
}

// Follows the nodes from the Softmax up to the product of queries and keys, and down to the product
// with the values, and records them.
class Finder {
 public:
  Finder(const Graph& graph, NodeId softmax, const SoleReader& sole_reader)
      : graph_(graph), softmax_(softmax), sole_reader_(sole_reader) {}

  std::optional<Attention> Run() {
    const Node& softmax = graph_.node(softmax_);
    if (softmax.op != "Softmax" || !IsAlongRows(softmax)) return std::nullopt;
    const std::optional<NodeId> weighted = ReaderOf(softmax.outputs[0], "MatMul");
    if (!weighted || graph_.node(*weighted).inputs[0] != softmax.outputs[0]) return std::nullopt;
    std::optional<NodeId> scores = Scaled(softmax.inputs[0], softmax_);
    if (!scores) scores = Masked(softmax.inputs[0]);
    if (!scores) return std::nullopt;
    const Node& product = graph_.node(*scores);
    ValueId q = product.inputs[0], k = product.inputs[1], v = graph_.node(*weighted).inputs[1];
    if (!IsAttention(TypeOf(q), TypeOf(k), TypeOf(v), mask_.valid() ? &TypeOf(mask_) : nullptr)) {
      return std::nullopt;
    }
    found_.nodes.insert(found_.nodes.end(), {*scores, *weighted});
    found_.operands = {Untransposed(q, "q_perm"), Untransposed(k, "k_perm"),
                       Untransposed(v, "v_perm")};
    if (mask_.valid()) found_.operands.push_back(mask_);
    AddTransposeBehind(*weighted);
    std::sort(found_.nodes.begin(), found_.nodes.end());
    found_.nodes.insert(found_.nodes.begin(), softmax_);
    return std::move(found_);
  }

 private:
  const TensorType& TypeOf(ValueId id) const { return graph_.value(id).type; }

  bool IsAlongRows(const Node& softmax) const {
    return IsLastAxis(softmax.attributes.GetInt("axis", -1), TypeOf(softmax.outputs[0]).rank());
  }

  std::optional<NodeId> ReaderOf(ValueId value, absl::string_view op) const {
    const std::optional<NodeId> reader = sole_reader_(value);
    return reader && graph_.node(*reader).op == op ? reader : std::nullopt;
  }

  // The producer of `value`, if its operator is `op` and only `reader` reads the value.
  std::optional<NodeId> ProducerOf(ValueId value, NodeId reader, absl::string_view op) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || graph_.node(producer).op != op ||
        !RunsAsKernel(graph_, graph_.node(producer)) || sole_reader_(value) != reader) {
      return std::nullopt;
    }
    return producer;
  }

  // The number that a constant of one element holds.
  std::optional<double> Number(ValueId value) const {
    if (!graph_.is_constant(value) || TypeOf(value).elements() != 1) return std::nullopt;
    return graph_.value(value).constant->GetDouble(0);
  }

  // Finds a product, with or without a scale after it, and records both.
  std::optional<NodeId> Scaled(ValueId value, NodeId reader) {
    if (const auto product = ProducerOf(value, reader, "MatMul")) return product;
    for (const char* op : {"Mul", "Div"}) {
      const std::optional<NodeId> scaling = ProducerOf(value, reader, op);
      if (!scaling) continue;
      const Node& node = graph_.node(*scaling);
      for (const size_t running : {0, 1}) {
        const std::optional<double> number = Number(node.inputs[1 - running]);
        if (!number) continue;
        const std::optional<double> scale = AttentionScale(node.op, running, *number);
        const auto product = ProducerOf(node.inputs[running], *scaling, "MatMul");
        if (!scale || !product || TypeOf(node.inputs[running]) != TypeOf(value)) continue;
        found_.nodes.push_back(*scaling);
        found_.attributes.Set("scale", *scale);
        return product;
      }
    }
    return std::nullopt;
  }

  // The same with a mask added.
  std::optional<NodeId> Masked(ValueId value) {
    const std::optional<NodeId> sum = ProducerOf(value, softmax_, "Add");
    if (!sum) return std::nullopt;
    const Node& node = graph_.node(*sum);
    for (const size_t running : {0, 1}) {
      if (TypeOf(node.inputs[running]) != TypeOf(value)) continue;
      const std::optional<NodeId> product = Scaled(node.inputs[running], *sum);
      if (!product) continue;
      found_.nodes.push_back(*sum);
      mask_ = node.inputs[1 - running];
      return product;
    }
    return std::nullopt;
  }

  // The operand of the Transpose that computes `value` for this kernel only; `value` itself if
  // there is none.
  ValueId Untransposed(ValueId value, absl::string_view name) {
    const std::optional<NodeId> reader = sole_reader_(value);
    if (!reader) return value;
    const std::optional<NodeId> transpose = ProducerOf(value, *reader, "Transpose");
    if (!transpose) return value;
    Take(*transpose, name);
    return graph_.node(*transpose).inputs[0];
  }

  void AddTransposeBehind(NodeId weighted) {
    found_.result = graph_.node(weighted).outputs[0];
    const std::optional<NodeId> transpose = ReaderOf(found_.result, "Transpose");
    if (!transpose) return;
    Take(*transpose, "y_perm");
    found_.result = graph_.node(*transpose).outputs[0];
  }

  void Take(NodeId transpose, absl::string_view name) {
    found_.nodes.push_back(transpose);
    found_.attributes.Set(name, graph_.node(transpose).attributes.GetInts("perm"));
  }

  const Graph& graph_;
  const NodeId softmax_;
  const SoleReader& sole_reader_;
  ValueId mask_;
  Attention found_;
};

// Adds the axis of heads, which a tensor of three axes lacks.
void PadToFour(AttentionTensors::Tensor& tensor) {
  if (tensor.dims.size() == 4) return;
  tensor.dims.insert(tensor.dims.begin() + 1, 1);
  tensor.strides.insert(tensor.strides.begin() + 1, tensor.strides.front());
}

AttentionTensors::Tensor InMemory(const Operand& operand) {
  const std::vector<int64_t> dims = operand.type.dims();
  return {dims, StridesOf(dims, Layout::kPlain)};
}

AttentionTensors::Tensor Input(const KernelSpec& spec, int index, absl::string_view name) {
  AttentionTensors::Tensor tensor = InMemory(spec.inputs[index]);
  if (const model::Ints* permutation = spec.attributes.FindInts(name)) {
    tensor = {Permuted(tensor.dims, *permutation), Permuted(tensor.strides, *permutation)};
  }
  PadToFour(tensor);
  return tensor;
}

AttentionTensors::Tensor Result(const KernelSpec& spec) {
  const AttentionTensors::Tensor behind = InMemory(spec.outputs[0]);
  AttentionTensors::Tensor tensor = behind;
  if (const model::Ints* permutation = spec.attributes.FindInts("y_perm")) {
    for (size_t i = 0; i < permutation->size(); ++i) {
      tensor.dims[(*permutation)[i]] = behind.dims[i];
      tensor.strides[(*permutation)[i]] = behind.strides[i];
    }
  }
  PadToFour(tensor);
  return tensor;
}

AttentionTensors::Tensor Mask(const Operand& operand, size_t rank) {
  AttentionTensors::Tensor tensor = InMemory(operand);
  while (tensor.dims.size() < rank) {
    tensor.dims.insert(tensor.dims.begin(), 1);
    tensor.strides.insert(tensor.strides.begin(), operand.type.elements());
  }
  PadToFour(tensor);
  return tensor;
}

}  // namespace

std::optional<double> AttentionScale(absl::string_view op, size_t running, double number) {
  const bool divides = op == "Div";
  if (divides && running != 0) return std::nullopt;
  const double scale = divides ? 1 / number : number;
  if (!std::isfinite(static_cast<float>(scale))) return std::nullopt;
  return scale;
}

bool IsAttention(const TensorType& q, const TensorType& k, const TensorType& v,
                 const TensorType* mask) {
  const int rank = q.rank();
  if ((rank != 3 && rank != 4) || k.rank() != rank || v.rank() != rank) return false;
  std::vector<int64_t> scores = q.dims();
  const std::vector<int64_t> keys = k.dims(), values = v.dims();
  const auto front = scores.end() - 2;
  if (!std::equal(scores.begin(), front, keys.begin()) ||
      !std::equal(scores.begin(), front, values.begin()) || scores[rank - 1] != keys[rank - 2] ||
      keys[rank - 1] != values[rank - 2]) {
    return false;
  }
  scores.back() = keys.back();
  const model::DType type = q.dtype;
  if (!StoredAsFloat(type) || k.dtype != type || v.dtype != type) return false;
  if (q.elements() == 0 || k.elements() == 0 || v.elements() == 0) return false;
  if (mask == nullptr) return true;
  if (mask->dtype != type || mask->rank() > rank) return false;
  const std::vector<int64_t> dims = mask->dims();
  return std::equal(dims.rbegin(), dims.rend(), scores.rbegin(),
                    [](int64_t dim, int64_t whole) { return dim == 1 || dim == whole; });
}

std::optional<Attention> FindAttention(const Graph& graph, NodeId softmax,
                                       const SoleReader& sole_reader) {
  return Finder(graph, softmax, sole_reader).Run();
}

AttentionTensors TensorsOfAttention(const KernelSpec& spec) {
  AttentionTensors tensors{.q = Input(spec, 0, "q_perm"),
                           .k = Input(spec, 1, "k_perm"),
                           .v = Input(spec, 2, "v_perm"),
                           .y = Result(spec)};
  std::swap(tensors.k.dims[2], tensors.k.dims[3]);
  std::swap(tensors.k.strides[2], tensors.k.strides[3]);
  if (spec.inputs.size() > 3) {
    tensors.mask = Mask(spec.inputs[3], spec.inputs[0].type.dims().size());
  }
  return tensors;
}

}  // namespace quotient::kernels
