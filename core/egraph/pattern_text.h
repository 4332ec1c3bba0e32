#pragma once

// The syntax tree of rule text and its parser. The grammar is in pattern.h. Needs no vocabulary.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::egraph {

struct Term {
  enum class Sort {
    kVariable,  // ?name
    kWord,      // name: a leaf, or text for a function
    kApply,     // name(children), name[attributes](children)
  };
  Sort sort = Sort::kWord;
  std::string name;  // Without the question mark.
  // Followed by "...": a list variable, or a term repeated over a list.
  bool repeated = false;

  // For kApply: what stands in brackets, if anything.
  enum class Brackets { kNone, kVariable, kText, kCall };
  Brackets brackets = Brackets::kNone;
  std::string attributes;       // The variable, the text, or the function called.
  std::vector<Term> arguments;  // The arguments of the function called.
  std::vector<Term> children;
};

struct GuardText {
  std::string name;
  bool negated = false;
  std::vector<Term> arguments;
};

struct LetText {
  std::string variable;
  Term term;
};

struct RuleText {
  std::string name;                     // Empty if none was given.
  std::string equation;                 // The text without the name.
  std::vector<std::vector<Term>> left;  // For each root the terms equated there, at least one.
  std::vector<Term> right;              // One for each root.
  std::vector<LetText> lets;
  std::vector<GuardText> guards;
};

// A rule in a file of rules.
struct RuleLine {
  size_t number = 0;     // The line on which it begins, from 1.
  std::string text;      // With continuation lines joined.
  std::string equation;  // The comment directly above, or empty.
};
std::vector<RuleLine> SplitRules(absl::string_view file);

// Fail with INVALID_ARGUMENT, naming the place. Terms nest at most 200 deep.
absl::StatusOr<RuleText> ParseRuleText(absl::string_view text);
absl::StatusOr<Term> ParseTerm(absl::string_view text);

// The text of a term, and of a guard with its `not`, in the form that the grammar calls first.
std::string ToText(const Term& term);
std::string ToText(const GuardText& guard);

}  // namespace quotient::egraph
