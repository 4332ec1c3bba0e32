#include "core/extract/to_selection.h"

#include <utility>
#include <vector>

#include "core/extract/bottom_up.h"
#include "core/extract/fusions.h"

namespace quotient::extract {
namespace {

// Drops choices that only an unfused producer needed.
void DropUnneeded(const Problem& problem, Selection& selection) {
  std::vector<bool> needed(selection.choice.size(), false);
  std::vector<ClassId> open;
  const auto need = [&](ClassId id) {
    if (!needed[id.value()]) open.push_back(id);
    needed[id.value()] = true;
  };
  for (const ClassId root : problem.roots) need(problem.graph.Find(root));
  while (!open.empty()) {
    const ENodeId node = selection.of(open.back());
    open.pop_back();
    for (const ClassId child : problem.graph.node(node).children) need(problem.graph.Find(child));
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) selection.choice[i] = ENodeId();
  }
}

// Writes the choices of all classes that the roots need. The instance may have two classes for one
// class of the e-graph: itself, and itself computed inside of a consumer. If both have a choice,
// that of the class itself is written. Returns false if that happened for some class.
bool Expand(const Problem& problem, const Instance& instance, std::span<const Node> choice,
            Selection& selection) {
  selection.choice.assign(problem.graph.class_bound(), ENodeId());
  std::vector<Class> needed = instance.roots;
  std::vector<bool> seen(instance.num_classes(), false);
  for (const Class root : needed) seen[root.value()] = true;
  for (size_t i = 0; i < needed.size(); ++i) {
    for (const Class child : instance.children[choice[needed[i].value()].value()]) {
      if (!seen[child.value()]) needed.push_back(child);
      seen[child.value()] = true;
    }
  }
  bool all_fused = true;
  for (const bool inside : {false, true}) {
    for (const Class id : needed) {
      const ENodeId node = instance.enode[choice[id.value()].value()];
      if (instance.inside[id.value()] != inside || !node.valid()) continue;
      ENodeId& chosen = selection.choice[instance.class_id[id.value()].value()];
      all_fused &= !chosen.valid();
      if (!chosen.valid()) chosen = node;
    }
  }
  if (!all_fused) DropUnneeded(problem, selection);
  return all_fused;
}

}  // namespace

Selection ToSelection(const Problem& problem, const Instance& instance,
                      std::span<const Node> choice) {
  Selection selection;
  if (!Expand(problem, instance, choice, selection) && !CheckSelection(problem, selection).ok()) {
    // A class's own choice depends on the consumer that was to be fused with another choice of it,
    // which is a cycle. Use the choice of least tree cost without fusions instead.
    const Instance plain = *WithoutFusions(*MakeInstance(problem));
    Expand(problem, plain, MinimizeTreeCost(plain).choice, selection);
  }
  selection.cost = SelectionCost(problem, selection);
  return selection;
}

}  // namespace quotient::extract
