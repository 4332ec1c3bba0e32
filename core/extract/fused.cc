#include "core/extract/fused.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace quotient::extract {
namespace {

// More e-nodes than this are no kernel.
constexpr size_t kMaxParts = 17;
// Alternatives of one e-node.
constexpr size_t kMaxVariants = 32;

}  // namespace

FusedNodes::FusedNodes(const Problem& problem) : problem_(problem) {
  std::vector<ENodeId> consumers;
  for (const Fusion& fusion : problem.cost.Fusions()) {
    if (fusion.saving <= 0) continue;
    std::vector<Producer>& producers = producers_[fusion.consumer];
    if (producers.empty()) consumers.push_back(fusion.consumer);
    producers.push_back({fusion.producer, fusion.saving, fusion.kind});
  }
  for (const ENodeId consumer : consumers) Expand(consumer);
  std::erase_if(consumers, [this](ENodeId consumer) { return !of(consumer).empty(); });
  for (const ENodeId consumer : consumers) of_.erase(consumer);
}

std::span<const FusedNode> FusedNodes::of(ENodeId node) const {
  const auto found = of_.find(node);
  return found == of_.end() ? std::span<const FusedNode>() : found->second;
}

// Producers first, with a stack of its own: chains can be long. What is met again on the way to
// itself has no alternatives there; a kernel cannot contain itself.
void FusedNodes::Expand(ENodeId consumer) {
  std::vector<std::pair<ENodeId, size_t>> stack;
  const auto enter = [&](ENodeId node) {
    if (producers_.contains(node) && of_.try_emplace(node).second) stack.emplace_back(node, 0);
  };
  enter(consumer);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    const std::vector<Producer>& producers = producers_.at(node);
    if (next < producers.size()) {
      enter(producers[next++].node);
      continue;
    }
    const ENodeId done = node;
    stack.pop_back();
    FusedNode alone;
    alone.parts = {done};
    alone.cost = problem_.cost.Cost(done);
    for (const ClassId child : problem_.graph.node(done).children) {
      alone.children.push_back(problem_.graph.Find(child));
    }
    std::vector<FusedNode> variants = {alone};
    std::vector<ClassId> children = alone.children;
    std::ranges::sort(children);
    for (size_t i = 0; i < children.size(); ++i) {
      const bool twice = (i > 0 && children[i - 1] == children[i]) ||
                         (i + 1 < children.size() && children[i + 1] == children[i]);
      if (!twice) Fuse(done, children[i], variants);
    }
    variants.erase(variants.begin());
    of_[done] = std::move(variants);
  }
}

// Adds to `variants` those of them that also take in a producer of the child's class.
void FusedNodes::Fuse(ENodeId consumer, ClassId child, std::vector<FusedNode>& variants) {
  const size_t bases = variants.size();
  for (const Producer& producer : producers_.at(consumer)) {
    if (problem_.graph.class_of(producer.node) != child) continue;
    FusedNode alone;
    alone.parts = {producer.node};
    alone.cost = problem_.cost.Cost(producer.node);
    for (const ClassId below : problem_.graph.node(producer.node).children) {
      alone.children.push_back(problem_.graph.Find(below));
    }
    for (size_t base = 0; base < bases; ++base) {
      const FusedNode from = variants[base];
      bool fits = Extend(from, child, producer, alone, variants);
      for (const FusedNode& kernel : of(producer.node)) {
        fits &= Extend(from, child, producer, kernel, variants);
      }
      complete_ &= fits;
    }
  }
}

// False if it would be one too many.
bool FusedNodes::Extend(const FusedNode& base, ClassId child, const Producer& producer,
                        const FusedNode& kernel, std::vector<FusedNode>& variants) const {
  const bool epilogue = producer.kind == Fusion::Kind::kEpilogue;
  if (epilogue && base.has_epilogue) return true;
  FusedNode fused = base;
  fused.has_epilogue |= epilogue;
  fused.parts.insert(fused.parts.end(), kernel.parts.begin(), kernel.parts.end());
  std::erase(fused.children, child);
  fused.children.insert(fused.children.end(), kernel.children.begin(), kernel.children.end());
  fused.cost = std::max(0.0, base.cost + kernel.cost - producer.saving);
  if (fused.cost == std::numeric_limits<double>::infinity()) return true;
  // The kernel may not want what it computes itself: another user of the class, or a cycle.
  for (const ENodeId part : fused.parts) {
    const ClassId inside = problem_.graph.class_of(part);
    if (std::ranges::find(fused.children, inside) != fused.children.end()) return true;
    const auto same = [&](ENodeId other) { return problem_.graph.class_of(other) == inside; };
    if (std::ranges::count_if(fused.parts, same) > 1) return true;
  }
  if (variants.size() > kMaxVariants || fused.parts.size() > kMaxParts) return false;
  variants.push_back(std::move(fused));
  return true;
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
