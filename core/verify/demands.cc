#include "core/verify/demands.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::ValueId;

bool KeepsOrder(const std::string& op) {
  static constexpr const char* kOps[] = {"Identity", "Cast",      "CastLike", "Reshape",
                                         "Flatten",  "Unsqueeze", "Squeeze",  "Dropout"};
  return absl::c_linear_search(kOps, op);
}

bool PassesValuesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Expand", "Transpose", "Slice", "Split",
                                         "Concat", "Gather",    "Tile"};
  return KeepsOrder(op) || absl::c_linear_search(kOps, op);
}

// Operators for which an infinite input usually gives an infinite output.
bool PassesInfinitiesOn(const std::string& op) {
  static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Div", "Neg", "Where"};
  return absl::c_linear_search(kOps, op);
}

bool TakesInfinities(const std::string& op) {
  static constexpr const char* kOps[] = {
      "ArgMax", "ArgMin", "Clip",        "Equal", "Erf",  "Greater", "GreaterOrEqual", "IsInf",
      "IsNaN",  "Less",   "LessOrEqual", "Min",   "Sign", "Sigmoid", "ReduceMin",      "Tanh"};
  return absl::c_linear_search(kOps, op);
}

// Plus infinity passes through these.
bool TakesMinusInfinity(const std::string& op) {
  static constexpr const char* kOps[] = {"Exp",  "LogSoftmax",      "Max",       "MaxPool",
                                         "Relu", "ReduceLogSumExp", "ReduceMax", "Softmax"};
  return absl::c_linear_search(kOps, op);
}

int64_t GatherBound(const Graph& graph, const Node& node) {
  const model::TensorType& data = graph.value(node.inputs[0]).type;
  if (data.rank() == 0) return 1;
  if (node.op == "Gather" || node.op == "GatherElements") {
    const int64_t axis = node.attributes.GetInt("axis", 0);
    return data.dim(static_cast<int>(axis < 0 ? axis + data.rank() : axis)).number();
  }
  // For GatherND and ScatterND, the smallest dimension is a bound for all components.
  int64_t bound = Demand::kNoBound;
  for (int64_t dim : data.dims()) bound = std::min(bound, dim);
  return bound;
}

// The bounds of the tuples of a ScatterND, if an input has their elements in order. Otherwise a
// bound of the single numbers.
std::vector<int64_t> TupleBounds(const Graph& graph, const Node& node, bool in_order) {
  if (!in_order) return {GatherBound(graph, node)};
  std::vector<int64_t> bounds = graph.value(node.inputs[0]).type.dims();
  bounds.resize(static_cast<size_t>(graph.value(node.inputs[1]).type.dims().back()));
  return bounds;
}

// The demands of the nodes behind a value on an input whose elements the value contains. `demand`
// holds if the elements are the same and in the input's order. Otherwise only the bounds of tuples
// differ.
struct Behind {
  Demand demand;
  std::vector<int64_t> tuples_out_of_order;
};

void TakeTuples(const std::vector<int64_t>& bounds, std::vector<int64_t>* tuples) {
  Demand joined{.tuple_bounds = std::move(*tuples)};
  if (!bounds.empty()) joined.TakeTuples(bounds);
  *tuples = std::move(joined.tuple_bounds);
}

void TakeInfinities(const Demand& from, Demand* demand) {
  demand->takes_infinities |= from.takes_infinities;
  demand->takes_minus_infinity |= from.takes_minus_infinity;
}

void TakeAll(const Behind& from, bool in_order, Behind* behind) {
  Demand& demand = behind->demand;
  TakeInfinities(from.demand, &demand);
  demand.index_bound = std::min(demand.index_bound, from.demand.index_bound);
  demand.positive |= from.demand.positive;
  demand.nonzero |= from.demand.nonzero;
  TakeTuples(in_order ? from.demand.tuple_bounds : from.tuples_out_of_order, &demand.tuple_bounds);
  TakeTuples(from.tuples_out_of_order, &behind->tuples_out_of_order);
}

// Visits the nodes once, backwards. To follow each input separately would take time proportional to
// inputs times nodes if all inputs lead into one chain of sums.
class DemandFinder {
 public:
  explicit DemandFinder(const Graph& graph) : graph_(graph), behind_(graph.values.size()) {
    for (size_t n = graph.nodes.size(); n-- > 0;) Visit(graph.nodes[n]);
  }

  const Demand& Of(ValueId input) const { return behind_[input.value()].demand; }

 private:
  void Visit(const Node& node) {
    Behind after;
    for (ValueId output : node.outputs) {
      if (output.valid()) TakeAll(behind_[output.value()], /*in_order=*/true, &after);
    }
    const bool moves = PassesValuesOn(node.op);
    const bool adds = PassesInfinitiesOn(node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid()) continue;
      Behind& behind = behind_[input.value()];
      AddReader(node, i, &behind);
      if (moves) TakeAll(after, HasInOrder(node, input), &behind);
      if (adds) TakeInfinities(after.demand, &behind.demand);
    }
  }

  bool HasInOrder(const Node& node, ValueId input) const {
    return KeepsOrder(node.op) &&
           graph_.value(node.outputs[0]).type.elements() == graph_.value(input).type.elements();
  }

  // Adds the demands of the node itself on its input `i`.
  void AddReader(const Node& node, size_t i, Behind* behind) const {
    Demand& demand = behind->demand;
    demand.takes_infinities |= TakesInfinities(node.op);
    demand.takes_minus_infinity |= TakesMinusInfinity(node.op);
    if (i == 1) AddSecond(node, behind);
    if (node.op == "Log" || node.op == "Sqrt") demand.positive = true;
    if (node.op == "BatchNormalization" && i == 4) demand.positive = true;  // The variance.
  }

  void AddSecond(const Node& node, Behind* behind) const {
    Demand& demand = behind->demand;
    if (node.op == "ScatterND" && node.attributes.GetString("reduction", "none") == "none") {
      TakeTuples(TupleBounds(graph_, node, /*in_order=*/true), &demand.tuple_bounds);
      TakeTuples(TupleBounds(graph_, node, /*in_order=*/false), &behind->tuples_out_of_order);
    } else if (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND" ||
               node.op == "ScatterND") {
      demand.index_bound = std::min(demand.index_bound, GatherBound(graph_, node));
    } else if (node.op == "Div" || node.op == "Mod") {
      demand.nonzero |= !model::IsFloat(graph_.value(node.inputs[1]).type.dtype);
    }
  }

  const Graph& graph_;
  std::vector<Behind> behind_;  // By value.
};

}  // namespace

// Distinct numbers give distinct tuples of any length, so bounds of different lengths are joined to
// one bound of single numbers.
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
  const DemandFinder finder(graph);
  std::vector<Demand> demands;
  demands.reserve(graph.inputs.size());
  for (ValueId input : graph.inputs) demands.push_back(finder.Of(input));
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
  if (thresholds.size() <= kMost) return thresholds;
  // Some from the whole range, not the least ones alone.
  std::vector<double> some;
  for (size_t i = 0; i < kMost; ++i) {
    some.push_back(thresholds[i * (thresholds.size() - 1) / (kMost - 1)]);
  }
  return some;
}

}  // namespace quotient::verify
