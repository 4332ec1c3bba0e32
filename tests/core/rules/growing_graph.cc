#include "tests/core/rules/growing_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"

namespace quotient::rules {
namespace {

using model::DType;
using model::Graph;
using model::Ints;
using model::Tensor;
using model::TensorType;
using model::ValueId;

constexpr uint64_t kStream = 3;
constexpr int64_t kMaxElements = 600;

// The last type of floats in a graph.
DType FloatsOf(const Graph& graph) {
  DType dtype = DType::kFloat32;
  for (const model::Value& value : graph.values) {
    if (model::IsFloat(value.type.dtype)) dtype = value.type.dtype;
  }
  return dtype;
}

}  // namespace

GrowingGraph::GrowingGraph(uint64_t seed, DType dtype) : rng_(seed, kStream), dtype_(dtype) {
  const bool images = rng_.Below(2) == 0;
  const int64_t a = 1 + Pick(3), b = 2 * (1 + Pick(3)), c = 3 + Pick(4), d = 2 + Pick(4);
  const Ints dims = images ? Ints{a, b, c, d} : Ints{a, c, b};
  for (int i = 0; i < 2; ++i) {
    pool_.push_back(graph_.AddInput(absl::StrCat("x", i), model::StaticType(dtype_, dims)));
  }
}

GrowingGraph::GrowingGraph(uint64_t seed, const Graph& base)
    : rng_(seed, kStream), dtype_(FloatsOf(base)), graph_(base), prefix_("more.") {
  for (size_t i = 0; i < graph_.values.size(); ++i) {
    const model::Value& value = graph_.values[i];
    // No scalars and no empty tensors are made, and so none are taken.
    const bool is_usual = value.type.rank() > 0 && value.type.elements() > 0;
    if (!value.constant && is_usual) pool_.push_back(ValueId(static_cast<uint32_t>(i)));
  }
}

ValueId GrowingGraph::Any() {
  const size_t size = pool_.size();
  return pool_[Chance(50) ? Pick(size) : size - 1 - Pick(std::min<size_t>(size, 3))];
}

ValueId GrowingGraph::Constant(Ints dims, double low, double high) {
  std::span<std::byte> buffer;
  const Tensor tensor = Tensor::Allocate(dtype_, std::move(dims), &buffer);
  std::vector<double> values(tensor.elements());
  // Exporters write float32 numbers. A range may be so narrow that it has one of them.
  for (double& value : values) value = static_cast<float>(rng_.Uniform(low, high));
  model::Store(dtype_, buffer, 0, std::span<const double>(values));
  return graph_.AddConstant(absl::StrCat(prefix_, "c", graph_.values.size()), tensor);
}

ValueId GrowingGraph::Index(int64_t index) {
  return graph_.AddConstant(absl::StrCat(prefix_, "i", graph_.values.size()),
                            Tensor::IntScalar(index));
}

std::optional<ValueId> GrowingGraph::Try(absl::string_view op, std::vector<ValueId> inputs,
                                         model::AttributeMap attributes) {
  Graph attempt = graph_;
  const ValueId output = attempt.AddOp(op, std::move(inputs), std::move(attributes),
                                       absl::StrCat(prefix_, "v", attempt.values.size()));
  if (!ops::InferTypes(attempt).ok()) return std::nullopt;
  const TensorType& type = attempt.value(output).type;
  if (!type.is_static() || type.elements() > kMaxElements || type.elements() == 0) {
    return std::nullopt;
  }
  graph_ = std::move(attempt);
  pool_.push_back(output);
  return output;
}

Graph GrowingGraph::Finish() && {
  std::vector<bool> is_read(graph_.values.size(), false);
  for (const model::Node& node : graph_.nodes) {
    for (const ValueId input : node.inputs) {
      if (input.valid()) is_read[input.value()] = true;
    }
  }
  for (size_t i = 0; i < graph_.values.size(); ++i) {
    const ValueId id(static_cast<uint32_t>(i));
    const bool is_output = std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
    if (graph_.value(id).producer.valid() && !is_read[i] && !is_output) {
      graph_.outputs.push_back(id);
    }
  }
  return std::move(graph_);
}

}  // namespace quotient::rules
