#include "core/extract/instance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/extract/fused.h"

namespace quotient::extract {
namespace {

bool Usable(double cost) { return cost >= 0 && cost < std::numeric_limits<double>::infinity(); }

egraph::GroupedList<Node> ParentsOf(const Instance& instance) {
  egraph::GroupedList<Node> parents(instance.num_classes());
  for (const Class child : instance.children.values()) parents.Count(child.value());
  parents.Allocate();
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    for (const Class child : instance.children[i]) parents.Append(child.value(), Node(i));
  }
  return parents;
}

// Builds an instance class by class, in the order of a breadth-first walk from the roots. `Id` is
// what classes are called where it comes from.
template <typename Id>
class Builder {
 public:
  explicit Builder(size_t num_ids) : number_(num_ids) {}

  Class NumberOf(Id id) {
    Class& number = number_[id.value()];
    if (!number.valid()) {
      number = Class(static_cast<uint32_t>(ids_.size()));
      ids_.push_back(id);
    }
    return number;
  }
  // The next class to add e-nodes to, if there is one; those of the class before are complete.
  bool NextClass(Id& id) {
    if (num_begun_ > 0) instance.nodes.EndKey();
    if (num_begun_ == ids_.size()) return false;
    id = ids_[num_begun_++];
    return true;
  }
  // An e-node of the class; its children follow.
  void AddNode(double cost, ENodeId enode, uint8_t rewritten) {
    instance.nodes.Push(Node(static_cast<uint32_t>(instance.num_nodes())));
    instance.cost.push_back(cost);
    instance.class_of.push_back(Class(num_begun_ - 1));
    instance.enode.push_back(enode);
    instance.rewritten.push_back(rewritten);
  }
  void AddChild(Id id, uint32_t times) {
    instance.children.Push(NumberOf(id));
    instance.multiplicity.Push(times);
  }
  // Children one by one, as often as they occur.
  void AddChildren(std::span<const Id> ids) {
    for (auto it = ids.begin(); it != ids.end(); ++it) {
      if (std::find(ids.begin(), it, *it) != it) continue;
      AddChild(*it, static_cast<uint32_t>(std::count(it, ids.end(), *it)));
    }
  }
  void EndNode(std::span<const ENodeId> fused_with = {}) {
    instance.children.EndKey();
    instance.multiplicity.EndKey();
    for (const ENodeId node : fused_with) instance.fused_with.Push(node);
    instance.fused_with.EndKey();
  }
  void AddRoot(Id id) {
    const Class root = NumberOf(id);
    if (std::ranges::find(instance.roots, root) == instance.roots.end()) {
      instance.roots.push_back(root);
    }
  }

  Instance instance;

 private:
  std::vector<Class> number_;
  std::vector<Id> ids_;
  uint32_t num_begun_ = 0;
};

// Live e-nodes by class, in the order of their ids. Reads them in that order, too: along the chain
// of a class each would be a cache miss.
egraph::GroupedList<ENodeId> MembersOf(const EGraph& graph) {
  egraph::GroupedList<ENodeId> members(graph.class_bound());
  const auto for_each = [&graph](const auto& visit) {
    for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
      if (graph.live(ENodeId(i))) visit(graph.class_of(ENodeId(i)).value(), ENodeId(i));
    }
  };
  for_each([&members](uint32_t id, ENodeId) { members.Count(id); });
  members.Allocate();
  for_each([&members](uint32_t id, ENodeId node) { members.Append(id, node); });
  return members;
}

// What the roots can reach through e-nodes of finite cost.
Instance Reachable(const Problem& problem) {
  const EGraph& graph = problem.graph;
  const egraph::GroupedList<ENodeId> members = MembersOf(graph);
  const FusedNodes fusions(problem);
  Builder<ClassId> builder(graph.class_bound());
  builder.instance.has_all_fusions = fusions.complete();
  for (const ClassId root : problem.roots) builder.AddRoot(graph.Find(root));
  const auto rewritten = [&graph](ENodeId node) {
    return graph.origin(node) != egraph::kInputOrigin;
  };
  for (ClassId id; builder.NextClass(id);) {
    builder.instance.class_id.push_back(id);
    for (const ENodeId node : members[id.value()]) {
      const double cost = problem.cost.Cost(node);
      if (!Usable(cost)) continue;
      builder.AddNode(cost, node, rewritten(node));
      builder.AddChildren(graph.node(node).children);
      builder.EndNode();
      for (const FusedNode& fused : fusions.of(node)) {
        const auto count = std::ranges::count_if(fused.parts, rewritten);
        builder.AddNode(fused.cost, node, static_cast<uint8_t>(count));
        builder.AddChildren(fused.children);
        builder.EndNode(std::span(fused.parts).subspan(1));
      }
    }
  }
  builder.instance.parents = ParentsOf(builder.instance);
  return std::move(builder.instance);
}

// Which e-nodes, of those to keep, can be part of an acyclic choice: all their children are
// derivable, found bottom-up by counting the children still missing.
class Derivable {
 public:
  Derivable(const Instance& instance, const std::vector<bool>& keep)
      : missing_(instance.num_nodes()), class_derivable_(instance.num_classes(), false) {
    std::vector<Class> ready;
    const auto settle = [&](uint32_t node) {
      ++num_nodes_;
      const Class id = instance.class_of[node];
      if (!class_derivable_[id.value()]) ready.push_back(id);
      class_derivable_[id.value()] = true;
    };
    for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
      // What is not to be kept misses one child for ever.
      missing_[i] = static_cast<uint32_t>(instance.children[i].size()) + (keep[i] ? 0 : 1);
      if (missing_[i] == 0) settle(i);
    }
    while (!ready.empty()) {
      const Class id = ready.back();
      ready.pop_back();
      for (const Node parent : instance.parents[id.value()]) {
        if (--missing_[parent.value()] == 0) settle(parent.value());
      }
    }
  }

  bool has(Class id) const { return class_derivable_[id.value()]; }
  bool has(Node node) const { return missing_[node.value()] == 0; }
  size_t num_nodes() const { return num_nodes_; }

 private:
  std::vector<uint32_t> missing_;
  std::vector<bool> class_derivable_;
  size_t num_nodes_ = 0;
};

// Without the e-nodes that are not derivable, and what cannot be reached without them.
Instance Compact(const Instance& from, const Derivable& derivable) {
  Builder<Class> builder(from.num_classes());
  for (const Class root : from.roots) builder.AddRoot(root);
  for (Class id; builder.NextClass(id);) {
    builder.instance.class_id.push_back(from.class_id[id.value()]);
    for (const Node node : from.nodes[id.value()]) {
      if (!derivable.has(node)) continue;
      const uint32_t i = node.value();
      builder.AddNode(from.cost[i], from.enode[i], from.rewritten[i]);
      for (size_t at = 0; at < from.children[i].size(); ++at) {
        builder.AddChild(from.children[i][at], from.multiplicity[i][at]);
      }
      builder.EndNode(from.fused_with[i]);
    }
  }
  builder.instance.has_all_fusions = from.has_all_fusions;
  builder.instance.parents = ParentsOf(builder.instance);
  return std::move(builder.instance);
}

}  // namespace

absl::StatusOr<Instance> MakeInstance(const Problem& problem) {
  Instance instance = Reachable(problem);
  const std::vector<bool> all(instance.num_nodes(), true);
  return Restrict(std::move(instance), all);
}

absl::StatusOr<Instance> Restrict(Instance instance, const std::vector<bool>& keep) {
  const Derivable derivable(instance, keep);
  for (const Class root : instance.roots) {
    if (derivable.has(root)) continue;
    return absl::NotFoundError(absl::StrCat("class ", instance.class_id[root.value()].value(),
                                            " has no finite, acyclic selection"));
  }
  if (derivable.num_nodes() == instance.num_nodes()) return instance;
  return Compact(instance, derivable);
}

}  // namespace quotient::extract
