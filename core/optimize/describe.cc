#include "core/optimize/describe.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace quotient::optimize {
namespace {

using model::Graph;
using model::Node;

struct CostOfNode {
  double us = 0;
  double spread = 0;
  std::string source = "free";
};

std::string NameOf(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (model::ValueId id : node.outputs) {
    if (id.valid()) return graph.value(id).name;
  }
  return node.op;
}

// Two nodes of one signature are the same node, as far as a reader is concerned.
std::string Signature(const Graph& graph, const Node& node) {
  return absl::StrCat(NameOf(graph, node), "\n", node.op, ToString(node.attributes));
}

std::vector<CostOfNode> CostsOf(const CostedGraph& costed) {
  std::vector<CostOfNode> costs(costed.graph.nodes.size());
  for (size_t i = 0; i < costed.cost.groups.size(); ++i) {
    const kernels::KernelGroup& group = costed.cost.groups[i];
    if (group.nodes.empty()) continue;  // a change of layout belongs to no node
    const cost::KernelCost& cost = costed.cost.costs[i];
    costs[group.nodes[0].value()] = {cost.us, cost.spread,
                                     std::string(cost::CostSourceName(cost.source))};
  }
  return costs;
}

// What changes of layout cost together: a row of its own, so that the rows add up. Measured if all
// were.
cost::KernelCost LayoutCost(const CostedGraph& costed) {
  cost::KernelCost sum{.source = cost::CostSource::kMeasured};
  for (size_t i = 0; i < costed.cost.groups.size(); ++i) {
    if (!costed.cost.groups[i].nodes.empty()) continue;
    const cost::KernelCost& cost = costed.cost.costs[i];
    sum.us += cost.us;
    if (cost.source == cost::CostSource::kModel) sum.source = cost.source;
  }
  return sum;
}

void AddLayoutRow(const CostedGraph& before, const CostedGraph& after, Report* report) {
  const cost::KernelCost cost_before = LayoutCost(before), cost_after = LayoutCost(after);
  if (cost_before.us == 0 && cost_after.us == 0) return;
  NodeCost& row = report->nodes.emplace_back();
  row.name = "(changes of memory layout)";
  row.op = kernels::kReorderOp;
  row.before_us = cost_before.us;
  row.after_us = cost_after.us;
  const bool all_measured = cost_before.source == cost::CostSource::kMeasured &&
                            cost_after.source == cost::CostSource::kMeasured;
  row.source = all_measured ? "measured" : "model";
}

// ONNX does not forbid two nodes of one name: their row has what both take.
void AddTo(std::optional<double>& sum, double us) { sum = sum.value_or(0) + us; }

void AddRows(const CostedGraph& before, const CostedGraph& after, Report* report) {
  absl::flat_hash_map<std::string, size_t> row_of;
  const std::vector<CostOfNode> costs_before = CostsOf(before), costs_after = CostsOf(after);
  const auto row = [&](const Graph& graph, const Node& node, const CostOfNode& cost) -> NodeCost& {
    const std::string name = NameOf(graph, node);
    const auto [entry, fresh] =
        row_of.emplace(absl::StrCat(name, "\n", node.op), report->nodes.size());
    if (fresh) report->nodes.push_back({name, node.op, {}, {}, cost.spread, cost.source});
    return report->nodes[entry->second];
  };
  for (size_t n = 0; n < before.graph.nodes.size(); ++n) {
    AddTo(row(before.graph, before.graph.nodes[n], costs_before[n]).before_us, costs_before[n].us);
  }
  for (size_t n = 0; n < after.graph.nodes.size(); ++n) {
    AddTo(row(after.graph, after.graph.nodes[n], costs_after[n]).after_us, costs_after[n].us);
  }
}

std::vector<DrawnNode> Draw(const CostedGraph& costed, const Graph& other) {
  absl::flat_hash_set<std::string> signatures;
  for (const Node& node : other.nodes) signatures.insert(Signature(other, node));
  const std::vector<CostOfNode> costs = CostsOf(costed);
  std::vector<DrawnNode> drawn;
  for (size_t n = 0; n < costed.graph.nodes.size(); ++n) {
    const Node& node = costed.graph.nodes[n];
    DrawnNode& box = drawn.emplace_back();
    box.name = NameOf(costed.graph, node);
    box.op = node.op;
    box.changed = !signatures.contains(Signature(costed.graph, node));
    box.cost_us = costs[n].us;
    for (model::ValueId id : node.inputs) {
      if (!id.valid() || !costed.graph.value(id).producer.valid()) continue;
      box.inputs.push_back(static_cast<int>(costed.graph.value(id).producer.value()));
    }
  }
  return drawn;
}

}  // namespace

void DescribeNodes(const CostedGraph& before, const CostedGraph& after, Report* report) {
  AddRows(before, after, report);
  AddLayoutRow(before, after, report);
  report->drawn_before = Draw(before, after.graph);
  report->drawn_after = Draw(after, before.graph);
}

}  // namespace quotient::optimize
