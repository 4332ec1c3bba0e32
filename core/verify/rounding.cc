#include "core/verify/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/rng.h"
#include "core/ops/interval.h"
#include "core/ops/op.h"
#include "core/verify/elements.h"

namespace quotient::verify {
namespace {

using model::DType;
using model::Graph;
using model::Node;
using model::Tensor;

// The largest relative error of one rounding.
double UnitRoundoff(DType dtype) { return ops::EpsilonOf(dtype) / 2; }

// Whether the node computes without rounding: it only moves elements or chooses between them.
bool IsExact(const Graph& graph, const Node& node) {
  if (node.op == "Cast") {
    const DType from = graph.value(node.inputs[0]).type.dtype;
    const DType to = graph.value(node.outputs[0]).type.dtype;
    return !model::IsFloat(from) || UnitRoundoff(from) >= UnitRoundoff(to);
  }
  const ops::OpDef* const op = ops::FindOp(node.op);
  return op == nullptr || op->exact;
}

bool HasInfinity(const Tensor& tensor) {
  return AnyElement(tensor, [](double value) { return std::isinf(value); });
}

bool IsAtPole(const Node& node, std::span<const Tensor* const> inputs) {
  const ops::OpDef* const op = ops::FindOp(node.op);
  return op != nullptr && op->numerics.is_at_pole != nullptr && op->numerics.is_at_pole(inputs);
}

// Whether no element is an infinity or represents one. A NaN makes no infinity.
bool IsOrdinary(const Tensor& tensor) {
  if (!model::IsFloat(tensor.dtype())) return true;
  const double largest = LargestOrdinary(tensor.dtype());
  return !AnyElement(tensor, [largest](double value) { return std::abs(value) > largest; });
}

bool Overflows(const Node& node, std::span<const Tensor* const> inputs,
               const std::vector<Tensor>& outputs) {
  const auto is_infinite = [](const Tensor& output) {
    return model::IsFloat(output.dtype()) && HasInfinity(output);
  };
  return std::ranges::any_of(outputs, is_infinite) && !IsAtPole(node, inputs) &&
         std::ranges::all_of(
             inputs, [](const Tensor* input) { return input == nullptr || IsOrdinary(*input); });
}

Tensor Moved(const Tensor& tensor, Rng& rng) {
  const double most = kNoise * UnitRoundoff(tensor.dtype());
  const double largest = LargestOrdinary(tensor.dtype());
  std::span<std::byte> bytes;
  Tensor moved = Tensor::Allocate(tensor.dtype(), tensor.dims(), &bytes);
  PartReader reader(tensor);
  for (std::span<double> part = reader.Next(); !part.empty(); part = reader.Next()) {
    for (double& value : part) {
      // The lowest value of a mask must not become an infinity.
      if (std::abs(value) <= largest) value *= 1 + rng.Uniform(-most, most);
    }
    model::Store(tensor.dtype(), bytes, reader.begin(), part);
  }
  return moved;
}

}  // namespace

double LargestOrdinary(DType dtype) { return dtype == DType::kFloat16 ? 6e4 : 1e30; }

// Nodes are visited in topological order, so overflowed_ is final for the inputs.
void RoundingNoise::FollowOverflow(const Node& node, std::span<const Tensor* const> inputs,
                                   const std::vector<Tensor>& outputs) {
  const bool is_behind = std::ranges::any_of(node.inputs, [this](model::ValueId input) {
    return input.valid() && overflowed_[input.value()];
  });
  if (!is_behind && (IsExact(graph_, node) || !Overflows(node, inputs, outputs))) return;
  for (const model::ValueId output : node.outputs) {
    if (output.valid()) overflowed_[output.value()] = true;
  }
}

void RoundingNoise::Visit(model::NodeId id, std::span<const Tensor* const> inputs,
                          std::vector<Tensor>& outputs) {
  const Node& node = graph_.node(id);
  FollowOverflow(node, inputs, outputs);
  if (IsExact(graph_, node)) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!model::IsFloat(outputs[i].dtype())) continue;
    Rng rng(seed_, (uint64_t{id.value()} << 8) + i);
    outputs[i] = Moved(outputs[i], rng);
  }
}

void RaiseDeviation(const Tensor& original, const Tensor& moved, std::vector<float>* deviation) {
  ElementReader read_original(original), read_moved(moved);
  for (float& most : *deviation) {
    const double a = read_original.Next(), b = read_moved.Next();
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double distance = std::isfinite(a) && std::isfinite(b)
                                ? std::abs(a - b)
                                : std::numeric_limits<double>::infinity();
    // Rounded up, so that the deviation of an element that moved is never zero.
    most = std::max({most, static_cast<float>(distance), std::numeric_limits<float>::min()});
  }
}

}  // namespace quotient::verify
