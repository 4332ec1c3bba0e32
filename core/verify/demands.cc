#include "core/verify/demands.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

// A value that depends on an input: whether its elements are the input's in their order, if they
// are as many, and whether they are elements of the input at all, or such with something added.
struct Reached {
  ValueId value;
  bool in_order;
  bool is_moved;
};

template <size_t kCount>
bool IsOneOf(const std::string& op, const char* const (&names)[kCount]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

bool KeepsOrder(const std::string& op) {
  static constexpr const char* kOps[] = {"Identity", "Cast",      "CastLike", "Reshape",
                                         "Flatten",  "Unsqueeze", "Squeeze",  "Dropout"};
  return IsOneOf(op, kOps);
}

bool PassesValuesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Expand", "Transpose", "Slice", "Split",
                                         "Concat", "Gather",    "Tile"};
  return KeepsOrder(op) || IsOneOf(op, kOps);
}

// An infinity stays one, as a rule.
bool PassesInfinitiesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Div", "Neg"};
  return IsOneOf(op, kOps);
}

bool TakesInfinities(const std::string& op) {
  static constexpr const char* kOps[] = {
      "ArgMax",    "ArgMin",         "Clip",    "Equal", "Erf",   "Exp",
      "Greater",   "IsInf",          "IsNaN",   "Less",  "Max",   "MaxPool",
      "Min",       "GreaterOrEqual", "Relu",    "Sign",  "Where", "ReduceMax",
      "ReduceMin", "LessOrEqual",    "Sigmoid", "Tanh"};
  return IsOneOf(op, kOps);
}

bool TakesMinusInfinity(const std::string& op) {
  return op == "Softmax" || op == "LogSoftmax" || op == "ReduceLogSumExp";
}

int64_t GatherBound(const Graph& graph, const Node& node) {
  const model::TensorType& data = graph.value(node.inputs[0]).type;
  if (data.rank() == 0) return 1;
  if (node.op == "Gather" || node.op == "GatherElements") {
    const int64_t axis = node.attributes.GetInt("axis", 0);
    return data.dim(static_cast<int>(axis < 0 ? axis + data.rank() : axis)).number();
  }
  // GatherND, ScatterND: the tightest dimension is right for all of them.
  int64_t bound = Demand::kNoBound;
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
    // Elements of the input are followed first: a value that is reached as such and otherwise, too,
    // is visited as such.
    std::vector<Reached> moved = {{input, true, true}}, open;
    while (!moved.empty() || !open.empty()) {
      std::vector<Reached>& from = moved.empty() ? open : moved;
      const Reached reached = from.back();
      from.pop_back();
      uint32_t& seen = seen_[reached.value.value()];
      if (std::exchange(seen, round_) == round_) continue;
      for (NodeId id : consumers_[reached.value.value()]) {
        const Node& node = graph_.node(id);
        Visit(node, reached, &demand);
        if (PassesValuesOn(node.op)) {
          Follow(node, reached, reached.is_moved ? &moved : &open);
        } else if (PassesInfinitiesOn(node.op)) {
          Follow(node, {reached.value, false, false}, &open);
        }
      }
    }
    return demand;
  }

 private:
  void Visit(const Node& node, Reached reached, Demand* demand) {
    demand->takes_infinities |= TakesInfinities(node.op);
    demand->takes_minus_infinity |= TakesMinusInfinity(node.op);
    if (!reached.is_moved) return;
    const ValueId value = reached.value;
    if (node.inputs.size() > 1 && node.inputs[1] == value) VisitSecond(node, reached, demand);
    if (node.op == "Log" || node.op == "Sqrt") demand->positive = true;
    if (node.op == "BatchNormalization" && node.inputs.size() > 4 && node.inputs[4] == value) {
      demand->positive = true;  // the variance
    }
  }

  void Follow(const Node& node, Reached reached, std::vector<Reached>* open) {
    for (ValueId output : node.outputs) {
      if (!output.valid()) continue;
      open->push_back({output, reached.in_order && KeepsOrder(node.op), reached.is_moved});
    }
  }

  // `reached` is the second input.
  void VisitSecond(const Node& node, Reached reached, Demand* demand) {
    if (node.op == "ScatterND" && node.attributes.GetString("reduction", "none") == "none") {
      const bool is_whole =
          graph_.value(reached.value).type.elements() == graph_.value(input_).type.elements();
      const std::vector<int64_t> bounds = TupleBounds(graph_, node, is_whole && reached.in_order);
      if (!bounds.empty()) demand->TakeTuples(bounds);
    } else if (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND" ||
               node.op == "ScatterND") {
      demand->index_bound = std::min(demand->index_bound, GatherBound(graph_, node));
    } else if (node.op == "Div" || node.op == "Mod") {
      demand->nonzero |= !model::IsFloat(graph_.value(reached.value).type.dtype);
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::vector<uint32_t> seen_;  // by value: the last round that visited it
  uint32_t round_ = 0;
  ValueId input_;  // whose round it is
};

}  // namespace

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

std::vector<Demand> FindDemands(const Graph& graph) {
  DemandFinder finder(graph);
  std::vector<Demand> demands;
  demands.reserve(graph.inputs.size());
  for (ValueId input : graph.inputs) demands.push_back(finder.Find(input));
  return demands;
}

std::vector<double> Thresholds(const Graph& graph) {
  constexpr int64_t kMostElements = 4;
  constexpr size_t kMost = 64;
  std::vector<double> thresholds;
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      const double* const number = std::get_if<double>(&attribute);
      if (number != nullptr) thresholds.push_back(*number);
    }
  }
  for (const model::Value& value : graph.values) {
    if (!value.constant.has_value() || value.constant->elements() > kMostElements) continue;
    if (!model::IsFloat(value.constant->dtype())) continue;
    for (double element : value.constant->AsDoubles()) thresholds.push_back(element);
  }
  std::erase_if(thresholds, [](double value) { return !(std::abs(value) <= 1e6); });
  std::ranges::sort(thresholds);
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  if (thresholds.size() > kMost) thresholds.resize(kMost);
  return thresholds;
}

}  // namespace quotient::verify
