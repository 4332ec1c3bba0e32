#include "core/optimize/undo.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::ENodeId;

// Splits the only family in two.
std::vector<Undoable> Halves(Undoable family) {
  const auto middle = family.classes.begin() + static_cast<long>(family.classes.size() / 2);
  return {{absl::StrCat(family.name, " (first half)"), {family.classes.begin(), middle}},
          {absl::StrCat(family.name, " (second half)"), {middle, family.classes.end()}}};
}

}  // namespace

std::vector<Undoable> FindUndoable(const domain::TensorEGraph& tensors,
                                   std::span<const egraph::Rule* const> rules,
                                   const extract::Selection& chosen,
                                   const extract::Selection& original) {
  const egraph::EGraph& graph = *tensors.egraph;
  std::vector<Undoable> families;
  std::map<egraph::Origin, size_t> family_of;  // By rule.
  size_t num_classes = 0;
  for (const domain::Rewrite& rewrite : domain::RewritesOf(tensors, chosen.choice)) {
    // Where a rule rewrote neighbors, they are one rewrite of several classes of the original.
    for (const ClassId cls : rewrite.classes) {
      const ENodeId now = chosen.of(cls);
      const ENodeId before = original.of(cls);
      const bool is_undoable = before.valid() && graph.origin(before) == egraph::kInputOrigin &&
                               graph.origin(now) != egraph::kInputOrigin;
      if (!is_undoable) continue;
      const auto [at, is_new] = family_of.emplace(rewrite.origin, families.size());
      if (is_new) families.push_back({rules[rewrite.origin - 1]->name(), {}});
      families[at->second].classes.push_back(cls);
      ++num_classes;
    }
  }
  if (num_classes < 2) return {};
  return families.size() == 1 ? Halves(std::move(families.front())) : families;
}

extract::Selection Undo(const egraph::EGraph& graph, std::span<const ClassId> roots,
                        const extract::Selection& chosen, const extract::Selection& original,
                        std::span<const ClassId> classes) {
  const absl::flat_hash_set<ClassId> undone(classes.begin(), classes.end());
  extract::Selection mixed;
  mixed.choice.resize(chosen.choice.size());
  std::vector<ClassId> needed(roots.begin(), roots.end());
  while (!needed.empty()) {
    const ClassId cls = graph.Find(needed.back());
    needed.pop_back();
    ENodeId& choice = mixed.choice[cls.value()];
    if (choice.valid()) continue;
    const bool stays = chosen.of(cls).valid() && !undone.contains(cls);
    choice = stays ? chosen.of(cls) : original.of(cls);
    if (!choice.valid()) continue;  // CheckSelection reports it.
    const egraph::ENodeView node = graph.node(choice);
    needed.insert(needed.end(), node.children.begin(), node.children.end());
  }
  return mixed;
}

}  // namespace quotient::optimize
