#include "core/verify/random_inputs.h"

#include <algorithm>
#include <limits>

#include "core/base/rng.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::ValueId;

// What the readers of an input demand of its values.
struct Demand {
  int64_t index_bound = std::numeric_limits<int64_t>::max();  // as an index: below this
  bool positive = false;
};

bool PassesValuesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Identity",  "Cast",   "Reshape",   "Flatten", "Squeeze",
                                         "Unsqueeze", "Expand", "Transpose", "Slice",   "Split",
                                         "Concat",    "Gather", "Tile",      "Dropout", "CastLike"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

int64_t GatherBound(const Graph& graph, const Node& node) {
  const model::TensorType& data = graph.value(node.inputs[0]).type;
  if (data.rank() == 0) return 1;
  if (node.op == "Gather" || node.op == "GatherElements") {
    const int64_t axis = node.attributes.GetInt("axis", 0);
    return data.dim(static_cast<int>(axis < 0 ? axis + data.rank() : axis)).number();
  }
  // GatherND, ScatterND: the tightest dimension is right for all of them.
  int64_t bound = std::numeric_limits<int64_t>::max();
  for (int64_t dim : data.dims()) bound = std::min(bound, dim);
  return bound;
}

class DemandFinder {
 public:
  explicit DemandFinder(const Graph& graph)
      : graph_(graph), consumers_(model::Consumers(graph)), seen_(graph.values.size(), 0) {}

  Demand Find(ValueId input) {
    Demand demand;
    ++round_;
    std::vector<ValueId> open = {input};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (seen_[value.value()] == round_) continue;
      seen_[value.value()] = round_;
      for (NodeId id : consumers_[value.value()]) Visit(graph_.node(id), value, &demand, &open);
    }
    return demand;
  }

 private:
  void Visit(const Node& node, ValueId value, Demand* demand, std::vector<ValueId>* open) {
    const bool indexes = node.op == "Gather" || node.op == "GatherElements" ||
                         node.op == "GatherND" || node.op == "ScatterND";
    if (indexes && node.inputs.size() > 1 && node.inputs[1] == value) {
      demand->index_bound = std::min(demand->index_bound, GatherBound(graph_, node));
    }
    if (node.op == "Log" || node.op == "Sqrt") demand->positive = true;
    if (node.op == "BatchNormalization" && node.inputs.size() > 4 && node.inputs[4] == value) {
      demand->positive = true;  // the variance
    }
    if (!PassesValuesOn(node.op)) return;
    for (ValueId output : node.outputs) {
      if (output.valid()) open->push_back(output);
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::vector<uint32_t> seen_;  // by value: the last round that visited it
  uint32_t round_ = 0;
};

Tensor DrawFloats(const model::TensorType& type, const Demand& demand, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<double> values(tensor.elements());
  for (double& value : values) {
    value = demand.positive ? rng.Uniform(0.1, 1.1) : rng.Uniform(-1, 1);
  }
  model::Store(type.dtype, bytes, 0, values);
  return tensor;
}

// Indices uniform in range. Other integers, and booleans, are most likely masks or small choices:
// ones and zeros, the first always one, so that no mask hides everything.
Tensor DrawIntegers(const model::TensorType& type, const Demand& demand, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  const bool index = demand.index_bound != std::numeric_limits<int64_t>::max();
  // 8- and 16-bit indices cannot reach past their own type.
  const int64_t bound = std::clamp<int64_t>(demand.index_bound, 1, 127);
  const int64_t wide = std::max<int64_t>(demand.index_bound, 1);
  std::vector<int64_t> values(tensor.elements());
  for (size_t i = 0; i < values.size(); ++i) {
    if (index) {
      values[i] = static_cast<int64_t>(rng.Below(model::DTypeBits(type.dtype) < 32 ? bound : wide));
    } else {
      values[i] = i == 0 || rng.NextDouble() < 0.75 ? 1 : 0;
    }
  }
  model::Store(type.dtype, bytes, 0, values);
  return tensor;
}

}  // namespace

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  DemandFinder finder(graph);
  std::vector<Tensor> inputs;
  inputs.reserve(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const model::TensorType& type = graph.value(graph.inputs[i]).type;
    const Demand demand = finder.Find(graph.inputs[i]);
    Rng rng(seed, i);
    inputs.push_back(model::IsFloat(type.dtype) ? DrawFloats(type, demand, rng)
                                                : DrawIntegers(type, demand, rng));
  }
  return inputs;
}

}  // namespace quotient::verify
