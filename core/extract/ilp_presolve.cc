#include "core/extract/ilp_presolve.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/requirements.h"

namespace quotient::extract {
namespace {

// --- what is left of an instance ---

// E-nodes among those of `keep` whose children can all be derived.
std::vector<bool> Derivable(const Instance& instance, const std::vector<bool>& keep) {
  std::vector<bool> derivable(instance.num_nodes(), false);
  std::vector<bool> class_derivable(instance.num_classes(), false);
  std::vector<uint32_t> missing(instance.num_nodes());
  std::vector<Class> ready;
  const auto mark = [&](uint32_t node) {
    if (missing[node] > 0 || !keep[node]) return;
    derivable[node] = true;
    const Class id = instance.class_of[node];
    if (!class_derivable[id.value()]) ready.push_back(id);
    class_derivable[id.value()] = true;
  };
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    missing[i] = static_cast<uint32_t>(instance.children[i].size());
    mark(i);
  }
  while (!ready.empty()) {
    const Class id = ready.back();
    ready.pop_back();
    for (Node parent : instance.parents[id.value()]) {
      --missing[parent.value()];
      mark(parent.value());
    }
  }
  return derivable;
}

// Classes that the roots can reach through e-nodes of `keep`.
std::vector<bool> Reachable(const Instance& instance, const std::vector<bool>& keep) {
  std::vector<bool> reached(instance.num_classes(), false);
  std::vector<Class> open;
  const auto reach = [&](Class id) {
    if (!reached[id.value()]) open.push_back(id);
    reached[id.value()] = true;
  };
  for (Class root : instance.roots) reach(root);
  while (!open.empty()) {
    const Class id = open.back();
    open.pop_back();
    for (Node node : instance.nodes[id.value()]) {
      if (!keep[node.value()]) continue;
      for (Class child : instance.children[node.value()]) reach(child);
    }
  }
  return reached;
}

template <typename Value, typename ForEachPair>
egraph::GroupedList<Value> Group(size_t num_keys, const ForEachPair& for_each_pair) {
  egraph::GroupedList<Value> list(num_keys);
  for_each_pair([&list](uint32_t key, Value) { list.Count(key); });
  list.Allocate();
  for_each_pair([&list](uint32_t key, Value value) { list.Append(key, value); });
  return list;
}

// Copies the e-nodes `kept`, in this order, and the classes that they are of.
Instance Copy(const Instance& instance, const std::vector<Node>& kept) {
  Instance result;
  result.class_bound = instance.class_bound;
  std::vector<Class> number(instance.num_classes());
  for (Node node : kept) {
    Class& id = number[instance.class_of[node.value()].value()];
    if (!id.valid()) {
      id = Class(static_cast<uint32_t>(result.class_id.size()));
      result.class_id.push_back(instance.class_id[instance.class_of[node.value()].value()]);
    }
    result.cost.push_back(instance.cost[node.value()]);
    result.class_of.push_back(id);
    result.enode.push_back(instance.enode[node.value()]);
    result.rewritten.push_back(instance.rewritten[node.value()]);
  }
  for (Class root : instance.roots) result.roots.push_back(number[root.value()]);

  const auto num_nodes = static_cast<uint32_t>(kept.size());
  result.children = Group<Class>(num_nodes, [&](const auto& add) {
    for (uint32_t i = 0; i < num_nodes; ++i) {
      for (Class child : instance.children[kept[i].value()]) add(i, number[child.value()]);
    }
  });
  result.multiplicity = Group<uint32_t>(num_nodes, [&](const auto& add) {
    for (uint32_t i = 0; i < num_nodes; ++i) {
      for (uint32_t times : instance.multiplicity[kept[i].value()]) add(i, times);
    }
  });
  result.parents = Group<Node>(result.num_classes(), [&](const auto& add) {
    for (uint32_t i = 0; i < num_nodes; ++i) {
      for (Class child : result.children[i]) add(child.value(), Node(i));
    }
  });
  result.nodes = Group<Node>(result.num_classes(), [&](const auto& add) {
    for (uint32_t i = 0; i < num_nodes; ++i) add(result.class_of[i].value(), Node(i));
  });
  return result;
}

std::optional<Instance> Restrict(const Instance& instance, const std::vector<bool>& keep) {
  const std::vector<bool> derivable = Derivable(instance, keep);
  const std::vector<bool> reached = Reachable(instance, derivable);
  std::vector<Node> kept;
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    if (derivable[i] && reached[instance.class_of[i].value()]) kept.push_back(Node(i));
  }
  Instance result = Copy(instance, kept);
  const auto valid = [](Class id) { return id.valid(); };
  if (!std::ranges::all_of(result.roots, valid)) return std::nullopt;
  return result;
}

// --- what can go ---

void DropSelfLoops(const Instance& instance, std::vector<bool>& keep) {
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    const std::span<const Class> children = instance.children[i];
    if (std::ranges::find(children, instance.class_of[i]) != children.end()) keep[i] = false;
  }
}

double CheapestNode(const Instance& instance, Class id) {
  double cheapest = std::numeric_limits<double>::infinity();
  for (Node node : instance.nodes[id.value()]) {
    cheapest = std::min(cheapest, instance.cost[node.value()]);
  }
  return cheapest;
}

// E-nodes that no selection cheaper than `cutoff` contains, for the dearest path below them.
void DropDearPaths(const Instance& instance, double cutoff, std::vector<bool>& keep) {
  const BottomUpResult paths = MinimizePathCost(instance);
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    double below = 0;
    for (Class child : instance.children[i]) below = std::max(below, paths.value[child.value()]);
    if (instance.cost[i] + below >= cutoff) keep[i] = false;
  }
}

// What the e-nodes of a class require tells which of them can go.
class RequirementFilter {
 public:
  RequirementFilter(const Instance& instance, const Requirements& requirements, double cutoff)
      : instance_(instance),
        requirements_(requirements),
        cutoff_(cutoff),
        component_(StrongComponents(instance)),
        forced_(requirements.OfRoots()) {
    for (uint32_t i = 0; i < instance.num_classes(); ++i) {
      cheapest_.push_back(CheapestNode(instance, Class(i)));
    }
  }

  void Drop(Class id, std::vector<bool>& keep) {
    candidates_.clear();
    for (Node node : instance_.nodes[id.value()]) {
      if (!keep[node.value()]) continue;
      candidates_.push_back({node, instance_.cost[node.value()], requirements_.of(node)});
      // One that requires its own class is in no acyclic selection.
      if (Requirements::Has(candidates_.back().required, id) ||
          LeastCost(id, candidates_.back()) >= cutoff_) {
        keep[node.value()] = false;
        candidates_.pop_back();
      }
    }
    DropDominated(id, keep);
  }

 private:
  struct Candidate {
    Node node;
    double cost;
    Requirements::Set required;
  };

  // Of a selection with the candidate.
  double LeastCost(Class id, const Candidate& candidate) const {
    double sum = candidate.cost;
    Requirements::Set needed = candidate.required;
    Requirements::Unite(needed, forced_);
    Requirements::ForEach(needed, [&](Class other) {
      if (other != id) sum += cheapest_[other.value()];
    });
    return sum;
  }

  // Those that another one can stand in for in every selection.
  void DropDominated(Class id, std::vector<bool>& keep) {
    std::ranges::stable_sort(candidates_, {}, &Candidate::cost);
    for (const Candidate& candidate : candidates_) {
      const auto stands_in = [&](const Candidate& other) {
        return keep[other.node.value()] && other.node != candidate.node &&
               other.cost <= candidate.cost && NeedsNoMore(id, other, candidate);
      };
      if (std::ranges::any_of(candidates_, stands_in)) keep[candidate.node.value()] = false;
    }
  }

  // Are the children of `a` in every selection with `b`, and where they close no cycle: below `b`,
  // or out of the strongly connected component?
  bool NeedsNoMore(Class id, const Candidate& a, const Candidate& b) const {
    return std::ranges::all_of(instance_.children[a.node.value()], [&](Class child) {
      return Requirements::Has(b.required, child) ||
             (Requirements::Has(forced_, child) &&
              component_[child.value()] != component_[id.value()]);
    });
  }

  const Instance& instance_;
  const Requirements& requirements_;
  const double cutoff_;
  const std::vector<uint32_t> component_;
  const Requirements::Set forced_;
  std::vector<double> cheapest_;  // by Class
  std::vector<Candidate> candidates_;
};

void DropByRequirements(const Instance& instance, double cutoff, const StopCondition& stop,
                        std::vector<bool>& keep) {
  const std::optional<Requirements> requirements = Requirements::Compute(instance, stop);
  if (!requirements.has_value()) return;
  RequirementFilter filter(instance, *requirements, cutoff);
  for (uint32_t i = 0; i < instance.num_classes() && !stop.ShouldStop(); ++i) {
    filter.Drop(Class(i), keep);
  }
}

}  // namespace

std::optional<Instance> Presolve(const Instance& instance, double cutoff,
                                 const StopCondition& stop) {
  std::optional<Instance> result = instance;
  for (size_t before = 0; result.has_value() && result->num_nodes() != before;) {
    before = result->num_nodes();
    if (stop.ShouldStop()) break;
    std::vector<bool> keep(result->num_nodes(), true);
    DropSelfLoops(*result, keep);
    DropDearPaths(*result, cutoff, keep);
    DropByRequirements(*result, cutoff, stop, keep);
    result = Restrict(*result, keep);
  }
  return result;
}

}  // namespace quotient::extract
