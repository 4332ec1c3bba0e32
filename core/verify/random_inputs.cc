#include "core/verify/random_inputs.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/base/distinct_tuples.h"
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
  // As tuples that say what a ScatterND writes, each of which is there once: below these.
  std::vector<int64_t> tuple_bounds;
  bool positive = false;

  void TakeTuples(const std::vector<int64_t>& bounds);
};

// Numbers of which none is there twice are distinct tuples of any length.
void Demand::TakeTuples(const std::vector<int64_t>& bounds) {
  const auto least = [](const std::vector<int64_t>& of) { return *std::ranges::min_element(of); };
  if (tuple_bounds.empty()) {
    tuple_bounds = bounds;
  } else if (tuple_bounds.size() == bounds.size()) {
    std::ranges::transform(tuple_bounds, bounds, tuple_bounds.begin(), std::ranges::min);
  } else {
    tuple_bounds = {std::min(least(tuple_bounds), least(bounds))};
  }
}

// A value that depends on an input, and whether its elements are the input's in their order, if
// they are as many.
struct Reached {
  ValueId value;
  bool in_order;
};

bool KeepsOrder(const std::string& op) {
  static constexpr const char* kOps[] = {"Identity", "Cast",      "CastLike", "Reshape",
                                         "Flatten",  "Unsqueeze", "Squeeze",  "Dropout"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

bool PassesValuesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Expand", "Transpose", "Slice", "Split",
                                         "Concat", "Gather",    "Tile"};
  return KeepsOrder(op) || std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
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

// Of a ScatterND's tuples, if an input is these in their order; else of single numbers in them.
std::vector<int64_t> TupleBounds(const Graph& graph, const Node& node, bool in_order) {
  if (!in_order) return {GatherBound(graph, node)};
  std::vector<int64_t> bounds = graph.value(node.inputs[0]).type.dims();
  bounds.resize(static_cast<size_t>(graph.value(node.inputs[1]).type.dims().back()));
  return bounds;
}

class DemandFinder {
 public:
  explicit DemandFinder(const Graph& graph)
      : graph_(graph), consumers_(model::Consumers(graph)), seen_(graph.values.size(), 0) {}

  Demand Find(ValueId input) {
    Demand demand;
    input_ = input;
    ++round_;
    std::vector<Reached> open = {{input, true}};
    while (!open.empty()) {
      const Reached reached = open.back();
      open.pop_back();
      uint32_t& seen = seen_[reached.value.value()];
      if (std::exchange(seen, round_) == round_) continue;
      for (NodeId id : consumers_[reached.value.value()]) {
        Visit(graph_.node(id), reached, &demand, &open);
      }
    }
    return demand;
  }

 private:
  void Visit(const Node& node, Reached reached, Demand* demand, std::vector<Reached>* open) {
    const ValueId value = reached.value;
    if (node.inputs.size() > 1 && node.inputs[1] == value) VisitIndexed(node, reached, demand);
    if (node.op == "Log" || node.op == "Sqrt") demand->positive = true;
    if (node.op == "BatchNormalization" && node.inputs.size() > 4 && node.inputs[4] == value) {
      demand->positive = true;  // the variance
    }
    if (!PassesValuesOn(node.op)) return;
    for (ValueId output : node.outputs) {
      if (output.valid()) open->push_back({output, reached.in_order && KeepsOrder(node.op)});
    }
  }

  // `reached` is the second input.
  void VisitIndexed(const Node& node, Reached reached, Demand* demand) {
    if (node.op == "ScatterND" && node.attributes.GetString("reduction", "none") == "none") {
      const bool is_whole =
          graph_.value(reached.value).type.elements() == graph_.value(input_).type.elements();
      const std::vector<int64_t> bounds = TupleBounds(graph_, node, is_whole && reached.in_order);
      if (!bounds.empty()) demand->TakeTuples(bounds);
    } else if (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND" ||
               node.op == "ScatterND") {
      demand->index_bound = std::min(demand->index_bound, GatherBound(graph_, node));
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::vector<uint32_t> seen_;  // by value: the last round that visited it
  uint32_t round_ = 0;
  ValueId input_;  // whose round it is
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
std::vector<int64_t> Integers(int64_t count, model::DType dtype, const Demand& demand, Rng& rng) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  // 8- and 16-bit indices cannot reach past their own type.
  const int64_t type_bound = model::DTypeBits(dtype) < 32 ? 127 : kNone;
  const int64_t index_bound = std::clamp<int64_t>(demand.index_bound, 1, type_bound);
  if (!demand.tuple_bounds.empty()) {
    std::vector<int64_t> bounds = demand.tuple_bounds;
    for (int64_t& bound : bounds) bound = std::min(bound, index_bound);
    return DistinctTuples(bounds, count / static_cast<int64_t>(bounds.size()), rng);
  }
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (demand.index_bound != kNone) {
      values[i] = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(index_bound)));
    } else {
      values[i] = i == 0 || rng.NextDouble() < 0.75 ? 1 : 0;
    }
  }
  return values;
}

Tensor DrawIntegers(const model::TensorType& type, const Demand& demand, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  const std::vector<int64_t> values = Integers(tensor.elements(), type.dtype, demand, rng);
  model::Store(type.dtype, bytes, 0, std::span(values));
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
