#include "core/report/describe.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace quotient::report {
namespace {

using cost::CostSource;
using model::Graph;
using model::Node;

struct CostOfNode {
  double us = 0;
  double spread = 0;
  CostSource source = CostSource::kFree;
};

// The source of a sum of two costs. The sum is estimated if either part is, and free only if both
// are.
CostSource SourceOfSum(CostSource a, CostSource b) {
  for (const CostSource source : {CostSource::kModel, CostSource::kMeasured}) {
    if (a == source || b == source) return source;
  }
  return CostSource::kFree;
}

void Add(const CostOfNode& cost, CostOfNode& sum) {
  sum.us += cost.us;
  sum.spread = std::max(sum.spread, cost.spread);
  sum.source = SourceOfSum(sum.source, cost.source);
}

// Nodes of the two graphs with equal signatures count as the same, unchanged node.
std::string Signature(const Graph& graph, const Node& node) {
  return absl::StrCat(NameOfNode(graph, node), "\n", node.op, ToString(node.attributes));
}

std::vector<CostOfNode> CostsOf(const CostedGraph& costed) {
  std::vector<CostOfNode> costs(costed.graph.nodes.size());
  for (size_t i = 0; i < costed.cost.groups.size(); ++i) {
    const kernels::KernelGroup& group = costed.cost.groups[i];
    if (group.nodes.empty()) continue;  // a change of layout belongs to no node
    const cost::KernelCost& cost = costed.cost.costs[i];
    Add({cost.us, cost.spread, cost.source}, costs[group.nodes[0].value()]);
  }
  return costs;
}

// The total cost of kernels that change a layout. They get a row of their own, so that the rows add
// up to the cost of the graph.
CostOfNode LayoutCost(const CostedGraph& costed) {
  CostOfNode sum;
  for (size_t i = 0; i < costed.cost.groups.size(); ++i) {
    if (!costed.cost.groups[i].nodes.empty()) continue;
    const cost::KernelCost& cost = costed.cost.costs[i];
    Add({cost.us, cost.spread, cost.source}, sum);
  }
  return sum;
}

// A row of the table of nodes. A side is empty if that graph has no such node.
struct Row {
  std::string name;
  std::string op;
  std::optional<CostOfNode> before;
  std::optional<CostOfNode> after;
};

NodeCost Finished(Row row) {
  NodeCost node{.name = std::move(row.name), .op = std::move(row.op)};
  if (row.before.has_value()) {
    node.before_us = row.before->us;
    node.before_source = std::string(CostSourceName(row.before->source));
    node.spread = row.before->spread;
  }
  if (row.after.has_value()) {
    node.after_us = row.after->us;
    node.after_source = std::string(CostSourceName(row.after->source));
    node.spread = std::max(node.spread, row.after->spread);
  }
  return node;
}

std::vector<Row> NodeRows(const CostedGraph& before, const CostedGraph& after) {
  std::vector<Row> rows;
  absl::flat_hash_map<std::string, size_t> row_of;
  // ONNX does not forbid several nodes with one name. They share a row, which has their sum.
  const auto add = [&](const CostedGraph& costed, std::optional<CostOfNode> Row::*side) {
    const std::vector<CostOfNode> costs = CostsOf(costed);
    for (size_t n = 0; n < costed.graph.nodes.size(); ++n) {
      const Node& node = costed.graph.nodes[n];
      const std::string name = NameOfNode(costed.graph, node);
      const auto [entry, fresh] = row_of.emplace(absl::StrCat(name, "\n", node.op), rows.size());
      if (fresh) rows.push_back({.name = name, .op = node.op});
      std::optional<CostOfNode>& sum = rows[entry->second].*side;
      if (!sum.has_value()) sum.emplace();
      Add(costs[n], *sum);
    }
  };
  add(before, &Row::before);
  add(after, &Row::after);
  return rows;
}

void AddRows(const CostedGraph& before, const CostedGraph& after, Report* report) {
  for (Row& row : NodeRows(before, after)) report->nodes.push_back(Finished(std::move(row)));
  const Row layouts = {"(changes of memory layout)", std::string(kernels::kReorderOp),
                       LayoutCost(before), LayoutCost(after)};
  if (layouts.before->us > 0 || layouts.after->us > 0) report->nodes.push_back(Finished(layouts));
}

std::vector<DrawnNode> Draw(const CostedGraph& costed, const Graph& other) {
  absl::flat_hash_set<std::string> signatures;
  for (const Node& node : other.nodes) signatures.insert(Signature(other, node));
  const std::vector<CostOfNode> costs = CostsOf(costed);
  std::vector<DrawnNode> drawn;
  for (size_t n = 0; n < costed.graph.nodes.size(); ++n) {
    const Node& node = costed.graph.nodes[n];
    DrawnNode& box = drawn.emplace_back();
    box.name = NameOfNode(costed.graph, node);
    box.op = node.op;
    box.changed = !signatures.contains(Signature(costed.graph, node));
    box.cost_us = costs[n].us;
    box.estimated = costs[n].source == CostSource::kModel;
    for (model::ValueId id : node.inputs) {
      if (!id.valid() || !costed.graph.value(id).producer.valid()) continue;
      box.inputs.push_back(static_cast<int>(costed.graph.value(id).producer.value()));
    }
  }
  return drawn;
}

}  // namespace

std::string NameOfNode(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (model::ValueId id : node.outputs) {
    if (id.valid()) return graph.value(id).name;
  }
  return node.op;
}

void DescribeNodes(const CostedGraph& before, const CostedGraph& after, Report* report) {
  AddRows(before, after, report);
  report->drawn_before = Draw(before, after.graph);
  report->drawn_after = Draw(after, before.graph);
}

}  // namespace quotient::report
