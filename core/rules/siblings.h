#pragma once

// Siblings: contractions with a common input that can be merged into one (shared_input.h), and
// which of them a match has.

#include <span>
#include <vector>

#include "core/rules/site_rule.h"

namespace quotient::rules {

// One of them.
struct Sibling {
  ClassId root;    // Its result, including the bias.
  ClassId weight;  // Constant.
  ClassId bias;    // Constant; invalid if there is none.
  OpId op;
};

// Whether this is a constant matrix or kernel that is not itself the result of a merge.
bool IsPlainWeight(const View& view, ClassId weight);

// Emits the matches that a search chooses among a group of siblings of x. Returns false if no more
// are wanted, as the next one does.
bool EmitVariants(const View& view, ClassId x, const std::vector<Sibling>& group,
                  const EmitFn& emit);
// The e-nodes of a kind that read x, the first class of a match of siblings, and one of the weights
// of the match: all that can be its members.
std::vector<ENodeId> ReadersOfWeights(const View& view, std::span<const ClassId> classes,
                                      egraph::KindId kind);
// Emits the match with these classes, if all of it is in the group, and it has no more members than
// a search merges.
bool EmitThese(const View& view, std::span<const ClassId> classes,
               const std::vector<Sibling>& group, const EmitFn& emit);
// The siblings of a match.
std::vector<Sibling> ReadSiblings(const SiteMatch& match);

}  // namespace quotient::rules
