#include "core/extract/fusions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace quotient::extract {

FusionTable::FusionTable(const Problem& problem) {
  std::vector<Fusion> fusions = problem.cost.Fusions();
  std::ranges::stable_sort(fusions, {}, &Fusion::consumer);
  for (auto begin = fusions.begin(); begin != fusions.end();) {
    const auto end = std::find_if(begin, fusions.end(), [&](const Fusion& fusion) {
      return fusion.consumer != begin->consumer;
    });
    AddConsumer(problem, std::span(begin, end));
    begin = end;
  }
}

void FusionTable::AddConsumer(const Problem& problem, std::span<const Fusion> fusions) {
  const EGraph& graph = problem.graph;
  const ENodeId consumer = fusions.front().consumer;
  const std::span<const ClassId> children = graph.node(consumer).children;
  std::vector<ClassId> uses(children.begin(), children.end());
  std::ranges::sort(uses);
  const double cost = problem.cost.Cost(consumer);
  std::map<ClassId, FusedChild> by_child;
  for (const Fusion& fusion : fusions) {
    const ClassId child = graph.class_of(fusion.producer);
    // A child that is used twice has another user.
    if (fusion.saving <= 0 || std::ranges::equal_range(uses, child).size() != 1) continue;
    FusedChild& fused = by_child[child];
    fused.child = child;
    fused.most = std::min(std::max(fused.most, fusion.saving), cost);
    fused.producers.push_back({fusion.producer, fusion.saving});
  }
  if (by_child.empty()) return;
  std::vector<FusedChild>& all = children_[consumer];
  for (auto& [child, fused] : by_child) all.push_back(std::move(fused));
}

SharedKernelTable::SharedKernelTable(const Problem& problem)
    : kernels_(problem.cost.SharedKernels()) {
  std::erase_if(kernels_, [&problem](const SharedKernel& kernel) {
    double sum = 0;
    for (const ENodeId member : kernel.members) {
      const double cost = problem.cost.Cost(member);
      if (std::isfinite(cost)) sum += cost;
    }
    return !(kernel.cost < sum);
  });
  for (size_t i = 0; i < kernels_.size(); ++i) {
    for (const ENodeId member : kernels_[i].members) kernel_of_.emplace(member, i);
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
  const std::vector<SharedKernel> kernels = problem.cost.SharedKernels();
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
