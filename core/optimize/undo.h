#pragma once

// Undo: takes rewrites of a selection back, family by family. All e-nodes of a class compute the
// same, so any class may go back to what the original has in it, whatever the other classes choose,
// unless that makes a cycle.

#include <span>
#include <string>
#include <vector>

#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/extract/extract.h"

namespace quotient::optimize {

// Classes of a selection that are undone together.
struct Undoable {
  std::string name;  // RewriteFamily::name
  std::vector<egraph::ClassId> classes;
};

// The classes in which `chosen` has an e-node that a rule made and `original` has one of the
// original, by rule, in the order of the rewrites. If one rule made all of them, there are two
// parts, the first and the second half of the classes. Empty if there are fewer than two classes.
std::vector<Undoable> FindUndoable(const domain::TensorEGraph& tensors,
                                   std::span<const egraph::Rule* const> rules,
                                   const extract::Selection& chosen,
                                   const extract::Selection& original);

// The selection that has the e-nodes of `original` in these classes and wherever that needs a class
// that `chosen` does without, and those of `chosen` in all others. Its cost is not computed, and it
// may have a cycle (extract::CheckSelection).
extract::Selection Undo(const egraph::EGraph& graph, std::span<const egraph::ClassId> roots,
                        const extract::Selection& chosen, const extract::Selection& original,
                        std::span<const egraph::ClassId> classes);

}  // namespace quotient::optimize
