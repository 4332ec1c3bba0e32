#include "core/extract/fusions.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quotient::extract {

FusionTable::FusionTable(const Problem& problem) {
  const std::span<const Fusion> fusions = problem.cost.Fusions();
  if (fusions.empty()) return;
  egraph::GroupedList<const Fusion*> by_consumer(problem.graph.enode_bound());
  for (const Fusion& fusion : fusions) by_consumer.Count(fusion.consumer.value());
  by_consumer.Allocate();
  for (const Fusion& fusion : fusions) by_consumer.Append(fusion.consumer.value(), &fusion);
  children_.Reserve(by_consumer.num_keys(), fusions.size());
  producers_.reserve(fusions.size());
  for (uint32_t consumer = 0; consumer < by_consumer.num_keys(); ++consumer) {
    AddConsumer(problem, by_consumer[consumer]);
    children_.EndKey();
  }
}

void FusionTable::AddConsumer(const Problem& problem, std::span<const Fusion* const> fusions) {
  if (fusions.empty()) return;
  const EGraph& graph = problem.graph;
  const ENodeId consumer = fusions.front()->consumer;
  const double cost = problem.cost.Cost(consumer);
  if (!std::isfinite(cost)) return;
  const std::span<const ClassId> children = graph.node(consumer).children;
  std::vector<ClassId> uses(children.begin(), children.end());
  std::ranges::sort(uses);
  std::vector<std::pair<ClassId, FusedChild::Producer>> fused;
  for (const Fusion* const fusion : fusions) {
    const ClassId child = graph.class_of(fusion->producer);
    if (fusion->saving <= 0 || !std::isfinite(problem.cost.Cost(fusion->producer))) continue;
    // A child that is used twice has another user.
    if (std::ranges::count(uses, child) != 1) continue;
    fused.push_back({child, {fusion->producer, fusion->saving}});
  }
  const auto child_of = [](const auto& each) { return each.first; };
  std::ranges::stable_sort(fused, {}, child_of);
  for (auto begin = fused.begin(); begin != fused.end();) {
    const auto end = std::ranges::upper_bound(begin, fused.end(), begin->first, {}, child_of);
    FusedChild child = {.child = begin->first};
    const size_t first = producers_.size();
    for (; begin != end; ++begin) {
      child.most = std::min(std::max(child.most, begin->second.saving), cost);
      producers_.push_back(begin->second);
    }
    child.producers = std::span(producers_).subspan(first);  // There is room for all: none moves.
    children_.Push(child);
  }
}

SharedKernelTable::SharedKernelTable(const Problem& problem) {
  for (const SharedKernel& kernel : problem.cost.SharedKernels()) {
    double sum = 0;
    for (const ENodeId member : kernel.members) {
      const double cost = problem.cost.Cost(member);
      if (std::isfinite(cost)) sum += cost;
    }
    if (!(kernel.cost < sum)) continue;
    for (const ENodeId member : kernel.members) kernel_of_.emplace(member, &kernel);
  }
}

namespace {

// Calls need(node) for each needed e-node, save(consumer, saving) for each fusion with what it
// saves beyond those before it, and share(index, members, saving) for each shared kernel that is
// cheaper than its chosen members.
template <typename Need, typename Save, typename Share>
void VisitSelection(const Problem& problem, const Selection& selection, const Need& need,
                    const Save& save, const Share& share) {
  const EGraph& graph = problem.graph;
  std::vector<uint32_t> uses(selection.choice.size(), 0);
  std::vector<ClassId> needed;
  const auto use = [&](ClassId id) {
    if (uses[id.value()]++ == 0) needed.push_back(id);
  };
  for (const ClassId root : problem.roots) use(graph.Find(root));
  for (size_t i = 0; i < needed.size(); ++i) {
    const ENodeId node = selection.of(needed[i]);
    need(node);
    for (const ClassId child : graph.node(node).children) use(graph.Find(child));
  }
  // How often the e-node's class is used, if the e-node is chosen.
  const auto uses_of = [&](ENodeId node) {
    const ClassId id = graph.class_of(node);
    return selection.of(id) == node ? uses[id.value()] : 0;
  };
  absl::flat_hash_map<ENodeId, double> largest;  // Saving so far, by consumer.
  for (const Fusion& fusion : problem.cost.Fusions()) {
    if (uses_of(fusion.consumer) == 0 || uses_of(fusion.producer) != 1) continue;
    double& best = largest[fusion.consumer];
    save(fusion.consumer, std::max(0.0, fusion.saving - best));
    best = std::max(best, fusion.saving);
  }
  const std::span<const SharedKernel> kernels = problem.cost.SharedKernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<ENodeId> members;
    double alone = 0;
    for (const ENodeId member : kernels[i].members) {
      if (uses_of(member) == 0) continue;
      members.push_back(member);
      alone += problem.cost.Cost(member);
    }
    if (kernels[i].cost < alone) share(i, members, alone - kernels[i].cost);
  }
}

}  // namespace

double SelectionCost(const Problem& problem, const Selection& selection) {
  double cost = 0;
  VisitSelection(
      problem, selection, [&](ENodeId node) { cost += problem.cost.Cost(node); },
      [&](ENodeId, double saving) { cost -= saving; },
      [&](size_t, std::span<const ENodeId>, double saving) { cost -= saving; });
  return cost;
}

Charges ChargesOf(const Problem& problem, const Selection& selection) {
  Charges charges;
  absl::flat_hash_map<ENodeId, size_t> position;
  VisitSelection(
      problem, selection,
      [&](ENodeId node) {
        position[node] = charges.nodes.size();
        charges.nodes.push_back({node});
      },
      [&](ENodeId consumer, double saving) { charges.nodes[position[consumer]].saving += saving; },
      [&](size_t kernel, std::span<const ENodeId> members, double) {
        charges.shared.push_back(kernel);
        for (const ENodeId member : members) {
          charges.nodes[position[member]].saving = problem.cost.Cost(member);
        }
      });
  return charges;
}

}  // namespace quotient::extract
