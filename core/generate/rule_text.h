#pragma once

// Writes equations between terms as rules. What is equal in one shape is true of others under
// guards, so there are several ways to write an equation, from the most general one to one that
// fits little more than the shapes it was found in.

#include <optional>
#include <string>
#include <vector>

#include "core/generate/terms.h"

namespace quotient::generate {

struct RuleStyle {
  // Operators of the left side that may have attributes match with any: Concat[?A](..). Else they
  // match with those of the term.
  bool any_words = true;
  enum class Axes {
    kAny,
    kRelated,  // Two operators that may have any attributes have one axis, or two, as in the term.
    kFixed,    // They have the axes that they have in the term; those without one are any.
    kSame,     // They have the axes that they have in the term; those without one are the term's.
  };
  Axes axes = Axes::kAny;
  // Variables have the rank that they have in the universe. Scalars always do.
  bool same_ranks = false;
  // Variables that have one type in the universe have one type, and those that can be broadcast to
  // another one there can.
  bool same_types = false;
  bool has_elements = false;  // No variable is empty.
};

// From the most general style to the narrowest.
const std::vector<RuleStyle>& RuleStyles();

// A rule "name: left => right if ..". Nullopt if the left side is a variable, or lacks one of the
// right side.
std::optional<std::string> RuleText(const Terms& terms, TermId left, TermId right,
                                    const RuleStyle& style);

// The operators of the left side, in lower case: "relu-maxpool".
std::string RuleName(const Terms& terms, TermId left);

// The equation with variables renamed, and in the order, so that equations which differ in nothing
// else are the same text.
struct Equation {
  TermId left;
  TermId right;
  std::string text;
};
Equation Canonical(Terms& terms, TermId left, TermId right);

}  // namespace quotient::generate
