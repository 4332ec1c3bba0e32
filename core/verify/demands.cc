#include "core/verify/demands.h"

#include <algorithm>
#include <utility>

#include "core/ops/op.h"
#include "core/verify/extremes.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::ValueId;
using ops::AtInfinity;
using ops::Movement;
using ops::Requirement;

int64_t IndexBound(const Graph& graph, const Node& node, const Requirement& requirement) {
  const ValueId data = node.inputs[static_cast<size_t>(requirement.data)];
  return ops::IndexBound(requirement.kind, node.attributes, graph.value(data).type);
}

// The bounds of index tuples, if an input has their elements in order. Otherwise a bound of
// the single numbers.
std::vector<int64_t> TupleBounds(const Graph& graph, const Node& node, Requirement requirement,
                                 bool in_order) {
  if (!in_order) return {IndexBound(graph, node, requirement)};
  std::vector<int64_t> bounds = graph.value(node.inputs[0]).type.dims();
  const ValueId tuples = node.inputs[static_cast<size_t>(requirement.input)];
  bounds.resize(static_cast<size_t>(graph.value(tuples).type.dims().back()));
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
    const ops::OpDef* const op = ops::FindOp(node.op);
    if (op == nullptr) return;
    Behind after;
    for (ValueId output : node.outputs) {
      if (output.valid()) TakeAll(behind_[output.value()], /*in_order=*/true, &after);
    }
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      Behind& behind = behind_[input.value()];
      behind.demand.takes_infinities |= op->numerics.at_infinity == AtInfinity::kEnds;
      behind.demand.takes_minus_infinity |= op->numerics.at_infinity == AtInfinity::kEndsIfBelow;
      if (op->movement != Movement::kNone) TakeAll(after, HasInOrder(*op, node, input), &behind);
      if (op->numerics.at_infinity == AtInfinity::kStays) {
        TakeInfinities(after.demand, &behind.demand);
      }
    }
    for (const Requirement& requirement : op->numerics.requirements) Require(node, requirement);
  }

  bool HasInOrder(const ops::OpDef& op, const Node& node, ValueId input) const {
    return (op.movement == Movement::kCopy || op.movement == Movement::kInOrder) &&
           graph_.value(node.outputs[0]).type.elements() == graph_.value(input).type.elements();
  }

  void Require(const Node& node, const Requirement& requirement) {
    const auto index = static_cast<size_t>(requirement.input);
    if (index >= node.inputs.size() || !node.inputs[index].valid()) return;
    Behind& behind = behind_[node.inputs[index].value()];
    Demand& demand = behind.demand;
    if (requirement.kind == Requirement::Kind::kPositive) {
      demand.positive = true;
    } else if (requirement.kind == Requirement::Kind::kNonzero) {
      demand.nonzero |= !model::IsFloat(graph_.value(node.inputs[index]).type.dtype);
    } else if (ops::AreDistinctTuples(requirement.kind, node.attributes)) {
      TakeTuples(TupleBounds(graph_, node, requirement, /*in_order=*/true), &demand.tuple_bounds);
      TakeTuples(TupleBounds(graph_, node, requirement, /*in_order=*/false),
                 &behind.tuples_out_of_order);
    } else {
      demand.index_bound = std::min(demand.index_bound, IndexBound(graph_, node, requirement));
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
  const std::vector<Extremes> extremes = FindExtremes(graph);
  for (size_t i = 0; i < demands.size(); ++i) {
    demands[i].takes_nan = extremes[i].takes_nan;
    demands[i].takes_largest = extremes[i].takes_largest;
  }
  return demands;
}

}  // namespace quotient::verify
