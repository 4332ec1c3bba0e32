#include "core/extract/instance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/extract/fusions.h"
#include "core/extract/instance_builder.h"

namespace quotient::extract {
namespace {

bool Usable(double cost) { return cost >= 0 && cost < std::numeric_limits<double>::infinity(); }

// Live e-nodes by class, in the order of their ids. They are read in that order as well, since
// following the chain of a class would be a cache miss for each.
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

// Builds the instance of what the roots reach through e-nodes of finite cost. Classes of the
// e-graph keep their ids; classes for kernels of several e-nodes get ids after those.
class Reachable {
 public:
  explicit Reachable(const Problem& problem)
      : graph_(problem.graph),
        cost_(problem.cost),
        fusions_(problem),
        shared_(problem),
        builder_(graph_.class_bound(), graph_.num_enodes()) {
    const egraph::GroupedList<ENodeId> members = MembersOf(graph_);
    for (const ClassId root : problem.roots) builder_.AddRoot(graph_.Find(root).value());
    for (uint32_t id; builder_.NextClass(id);) {
      if (id >= graph_.class_bound()) {
        AddExtra(extras_[id - graph_.class_bound()]);
        continue;
      }
      builder_.DescribeClass(ClassId(id), false);
      for (const ENodeId node : members[id]) AddAlternatives(node, 0);
    }
  }

  Instance Take() { return builder_.Finish(); }

 private:
  // A class that the e-graph does not have. One of the two fields is set.
  struct Extra {
    const FusedChild* fused = nullptr;  // A child computed inside of its consumer.
    const SharedKernel* shared = nullptr;
  };

  void AddExtra(Extra extra) {
    if (extra.fused != nullptr) return AddInside(extra.fused);
    builder_.DescribeClass(graph_.class_of(extra.shared->members.front()), false);
    builder_.AddNode(extra.shared->cost, ENodeId(), 0);
    builder_.EndNode();
  }

  void AddInside(const FusedChild* fused) {
    builder_.DescribeClass(fused->child, true);
    for (const FusedChild::Producer& producer : fused->producers) {
      AddAlternatives(producer.node, fused->most - producer.saving);
    }
  }

  // Adds the e-node alone, as a member of a shared kernel, and as the epilogue of each child that
  // allows it.
  void AddAlternatives(ENodeId node, double extra) {
    const double cost = cost_.Cost(node);
    if (!Usable(cost)) return;
    AddAlternative(node, cost + extra, nullptr, nullptr);
    if (const SharedKernel* const shared = shared_.of(node); shared != nullptr && cost > 0) {
      AddAlternative(node, extra, nullptr, shared);
    }
    for (const FusedChild& child : fusions_.of(node)) {
      AddAlternative(node, cost + extra - child.most, &child, nullptr);
    }
  }

  // The alternative as the epilogue of a child or as a member of a shared kernel, if not null.
  void AddAlternative(ENodeId node, double cost, const FusedChild* epilogue,
                      const SharedKernel* shared) {
    const bool rewritten = graph_.origin(node) != egraph::kInputOrigin;
    builder_.AddNode(std::max(cost, 0.0), node, rewritten);
    const std::span<const ClassId> children = graph_.node(node).children;
    constexpr size_t kFew = 16;
    if (children.size() > kFew) CountChildren(children);
    for (auto it = children.begin(); it != children.end(); ++it) {
      uint32_t times = 0;  // 0 if the child was added before.
      if (children.size() > kFew) {
        times = std::exchange(times_[*it], 0);
      } else if (std::find(children.begin(), it, *it) == it) {
        times = static_cast<uint32_t>(std::count(it, children.end(), *it));
      }
      const bool inside = epilogue != nullptr && epilogue->child == *it;
      const uint32_t child = inside ? IdOf(epilogue, {.fused = epilogue}) : it->value();
      if (times > 0) builder_.AddChild(child, times);
    }
    if (shared != nullptr) builder_.AddChild(IdOf(shared, {.shared = shared}), 1);
    builder_.EndNode();
  }

  // For so many children that comparing each with the others would take longer.
  void CountChildren(std::span<const ClassId> children) {
    times_.clear();
    for (const ClassId child : children) ++times_[child];
  }

  uint32_t IdOf(const void* key, Extra extra) {
    const auto [known, fresh] =
        extra_id_.try_emplace(key, graph_.class_bound() + static_cast<uint32_t>(extras_.size()));
    if (fresh) extras_.push_back(extra);
    return known->second;
  }

  const EGraph& graph_;
  const CostFunction& cost_;
  const FusionTable fusions_;
  const SharedKernelTable shared_;
  InstanceBuilder builder_;
  // How often each child occurs that is still to be added.
  absl::flat_hash_map<ClassId, uint32_t> times_;
  std::vector<Extra> extras_;
  absl::flat_hash_map<const void*, uint32_t> extra_id_;
};

// Finds which of the e-nodes to keep can be part of an acyclic choice: those whose children are all
// derivable. Works bottom-up by counting the children still missing.
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
      // An e-node that is not kept has one child missing for ever.
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

// Drops the e-nodes that are not derivable, and what cannot be reached without them. NOT_FOUND if a
// root is dropped.
absl::StatusOr<Instance> Compact(const Instance& from, const Derivable& derivable) {
  for (const Class root : from.roots) {
    if (!derivable.has(root)) return NoSelection(from, root);
  }
  InstanceBuilder builder(from.num_classes(), derivable.num_nodes());
  for (const Class root : from.roots) builder.AddRoot(root.value());
  for (uint32_t id; builder.NextClass(id);) {
    builder.DescribeClass(from.class_id[id], from.inside[id]);
    for (const Node node : from.nodes[id]) {
      if (!derivable.has(node)) continue;
      builder.CopyNode(from, node);
      const uint32_t i = node.value();
      for (size_t at = 0; at < from.children[i].size(); ++at) {
        builder.AddChild(from.children[i][at].value(), from.multiplicity[i][at]);
      }
      builder.EndNode();
    }
  }
  return builder.Finish();
}

}  // namespace

Instance MakeReachableInstance(const Problem& problem) { return Reachable(problem).Take(); }

absl::Status NoSelection(const Instance& instance, Class root) {
  return absl::NotFoundError(absl::StrCat("class ", instance.class_id[root.value()].value(),
                                          " has no finite, acyclic selection"));
}

absl::StatusOr<Instance> MakeInstance(const Problem& problem) {
  Instance instance = MakeReachableInstance(problem);
  const std::vector<bool> all(instance.num_nodes(), true);
  const Derivable derivable(instance, all);
  // A class without e-nodes has no e-node missing, so the roots must be checked, too.
  const bool all_derivable = derivable.num_nodes() == instance.num_nodes();
  const auto is_there = [&](Class root) { return derivable.has(root); };
  if (all_derivable && std::ranges::all_of(instance.roots, is_there)) return instance;
  QUOTIENT_ASSIGN_OR_RETURN(instance, Compact(instance, derivable));
  instance.origin.clear();
  return instance;
}

absl::StatusOr<Instance> Restrict(const Instance& instance, const std::vector<bool>& keep) {
  return Compact(instance, Derivable(instance, keep));
}

absl::StatusOr<Instance> WithoutFusions(const Instance& instance) {
  std::vector<bool> keep(instance.num_nodes());
  for (uint32_t i = 0; i < keep.size(); ++i) {
    keep[i] = !instance.inside[instance.class_of[i].value()] || !instance.enode[i].valid();
  }
  return Restrict(instance, keep);
}

}  // namespace quotient::extract
