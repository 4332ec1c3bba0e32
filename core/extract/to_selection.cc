#include "core/extract/to_selection.h"

#include <utility>
#include <vector>

#include "core/extract/dag.h"
#include "core/extract/fused.h"

namespace quotient::extract {
namespace {

// Writes what the roots need of `choice`. Producers of fusions go where nothing else is chosen:
// false if somewhere something was, and so is computed for its own sake.
bool Expand(const Problem& problem, const Instance& instance, std::span<const Node> choice,
            Selection& selection) {
  selection.choice.assign(problem.graph.class_bound(), ENodeId());
  std::vector<Class> needed = instance.roots;
  std::vector<bool> seen(instance.num_classes(), false);
  for (const Class root : needed) seen[root.value()] = true;
  for (size_t i = 0; i < needed.size(); ++i) {
    const uint32_t node = choice[needed[i].value()].value();
    selection.choice[instance.class_id[needed[i].value()].value()] = instance.enode[node];
    for (const Class child : instance.children[node]) {
      if (!seen[child.value()]) needed.push_back(child);
      seen[child.value()] = true;
    }
  }
  bool all_fused = true;
  for (const Class id : needed) {
    for (const ENodeId producer : instance.fused_with[choice[id.value()].value()]) {
      ENodeId& chosen = selection.choice[problem.graph.class_of(producer).value()];
      all_fused &= !chosen.valid();
      if (!chosen.valid()) chosen = producer;
    }
  }
  return all_fused;
}

}  // namespace

Selection ToSelection(const Problem& problem, const Instance& instance,
                      std::span<const Node> choice) {
  Selection selection;
  if (!Expand(problem, instance, choice, selection) && !CheckSelection(problem, selection).ok()) {
    // What was chosen for its own sake is above the consumer that was to be fused with another.
    std::vector<bool> plain(instance.num_nodes());
    for (uint32_t i = 0; i < plain.size(); ++i) plain[i] = instance.fused_with[i].empty();
    const Instance without = *Restrict(instance, plain);
    Expand(problem, without, SearchLocally(without, StopCondition()), selection);
  }
  selection.cost = SelectionCost(problem, selection);
  return selection;
}

}  // namespace quotient::extract
