#include "core/extract/ilp_presolve.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/requirements.h"

namespace quotient::extract {
namespace {

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

// Drops e-nodes that no selection cheaper than `cutoff` contains, because of the dearest path below
// them.
void DropExpensivePaths(const Instance& instance, double cutoff, std::vector<bool>& keep) {
  const BottomUpResult paths = MinimizePathCost(instance);
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    double below = 0;
    for (Class child : instance.children[i]) below = std::max(below, paths.value[child.value()]);
    if (instance.cost[i] + below >= cutoff) keep[i] = false;
  }
}

// Drops e-nodes of a class by comparing what they require.
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
      // An e-node that requires its own class is in no acyclic selection.
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

  // A lower bound on the cost of a selection with the candidate.
  double LeastCost(Class id, const Candidate& candidate) const {
    double sum = candidate.cost;
    Requirements::Set needed = candidate.required;
    Requirements::Unite(needed, forced_);
    Requirements::ForEach(needed, [&](Class other) {
      if (other != id) sum += cheapest_[other.value()];
    });
    return sum;
  }

  // Drops e-nodes that another one can replace in every selection.
  void DropDominated(Class id, std::vector<bool>& keep) {
    std::ranges::stable_sort(candidates_, {}, &Candidate::cost);
    for (const Candidate& candidate : candidates_) {
      const auto stands_in = [&](const Candidate& other) {
        return keep[other.node.value()] && other.node != candidate.node &&
               other.cost <= candidate.cost && AddsNoComputation(other, candidate) &&
               AddsNoRequirement(id, other, candidate);
      };
      if (std::ranges::any_of(candidates_, stands_in)) keep[candidate.node.value()] = false;
    }
  }

  // Whether `a` computes nothing that may be computed elsewhere in a selection with `b`.
  bool AddsNoComputation(const Candidate& a, const Candidate& b) const {
    if (instance_.computes.empty()) return true;
    const uint32_t computed = instance_.computes[a.node.value()];
    return computed == Instance::kComputesAlone || computed == instance_.computes[b.node.value()];
  }

  // Whether the children of `a` are in every selection with `b`, and close no cycle with `a`,
  // because they are below `b` or outside of the strongly connected component.
  bool AddsNoRequirement(Class id, const Candidate& a, const Candidate& b) const {
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
  std::vector<double> cheapest_;  // By Class.
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
  Instance result = instance;
  for (size_t before = 0; result.num_nodes() != before;) {
    before = result.num_nodes();
    if (stop.ShouldStop()) break;
    std::vector<bool> keep(result.num_nodes(), true);
    DropSelfLoops(result, keep);
    DropExpensivePaths(result, cutoff, keep);
    DropByRequirements(result, cutoff, stop, keep);
    absl::StatusOr<Instance> rest = Restrict(result, keep);
    if (!rest.ok()) return std::nullopt;
    result = *std::move(rest);
  }
  return result;
}

}  // namespace quotient::extract
