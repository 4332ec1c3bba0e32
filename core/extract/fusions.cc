#include "core/extract/fusions.h"

#include <algorithm>
#include <utility>

namespace quotient::extract {

FusionTable::FusionTable(const Problem& problem) {
  const EGraph& graph = problem.graph;
  for (const Fusion& fusion : problem.cost.Fusions()) {
    const ClassId child = graph.class_of(fusion.producer);
    const std::span<const ClassId> uses = graph.node(fusion.consumer).children;
    // What is used twice has another user.
    if (fusion.saving <= 0 || std::ranges::count(uses, child) != 1) continue;
    std::vector<FusedChild>& children = children_[fusion.consumer];
    const auto known = std::ranges::find_if(children, [&](const FusedChild& each) {
      return each.child == child && each.kind == fusion.kind;
    });
    FusedChild& fused = known != children.end() ? *known : children.emplace_back();
    fused.child = child;
    fused.kind = fusion.kind;
    fused.most = std::max(fused.most, fusion.saving);
    fused.producers.push_back({fusion.producer, fusion.saving});
  }
  for (auto& [consumer, children] : children_) {
    // Of what works in place all is saved, of epilogues one.
    double left = problem.cost.Cost(consumer);
    for (const auto kind : {Fusion::Kind::kInPlace, Fusion::Kind::kEpilogue}) {
      for (FusedChild& child : children) {
        if (child.kind != kind) continue;
        child.most = std::min(child.most, left);
        if (kind == Fusion::Kind::kInPlace) left -= child.most;
      }
    }
  }
}

std::span<const FusedChild> FusionTable::of(ENodeId consumer) const {
  const auto found = children_.find(consumer);
  return found == children_.end() ? std::span<const FusedChild>() : found->second;
}

double SelectionCost(const Problem& problem, const Selection& selection) {
  const EGraph& graph = problem.graph;
  std::vector<uint32_t> uses(selection.choice.size(), 0);
  std::vector<ClassId> needed;
  const auto use = [&](ClassId id) {
    if (uses[id.value()]++ == 0) needed.push_back(id);
  };
  for (const ClassId root : problem.roots) use(graph.Find(root));
  double cost = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    const ENodeId node = selection.of(needed[i]);
    cost += problem.cost.Cost(node);
    for (const ClassId child : graph.node(node).children) use(graph.Find(child));
  }
  absl::flat_hash_map<ENodeId, double> epilogue;
  for (const Fusion& fusion : problem.cost.Fusions()) {
    const ClassId consumer = graph.class_of(fusion.consumer);
    const ClassId producer = graph.class_of(fusion.producer);
    if (uses[consumer.value()] == 0 || selection.of(consumer) != fusion.consumer) continue;
    if (uses[producer.value()] != 1 || selection.of(producer) != fusion.producer) continue;
    if (fusion.kind == Fusion::Kind::kInPlace) {
      cost -= std::max(0.0, fusion.saving);
    } else {
      double& best = epilogue[fusion.consumer];
      cost -= std::max(0.0, fusion.saving - best);
      best = std::max(best, fusion.saving);
    }
  }
  return cost;
}

}  // namespace quotient::extract
