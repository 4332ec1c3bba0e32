#pragma once

// The syntax tree of rule text (its grammar is in pattern.h) and its parser. Knows no vocabulary.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::egraph {

struct Term {
  enum class Sort {
    kVariable,  // ?name
    kWord,      // name: a leaf, or text handed to a function
    kApply,     // name(children), name[attributes](children)
  };
  Sort sort = Sort::kWord;
  std::string name;  // without the question mark
  // Followed by "...": a list variable, or a term repeated over a list.
  bool repeated = false;

  // Of kApply: what stands in brackets, if anything.
  enum class Brackets { kNone, kVariable, kText, kCall };
  Brackets brackets = Brackets::kNone;
  std::string attributes;       // the variable, the text, or the function called
  std::vector<Term> arguments;  // of the function called
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
  std::string name;                     // empty: none given
  std::string equation;                 // the text without the name
  std::vector<std::vector<Term>> left;  // for each root the terms equated there, at least one
  std::vector<Term> right;              // one for each root
  std::vector<LetText> lets;
  std::vector<GuardText> guards;
};

// A rule of a file, as said in pattern.h.
struct RuleLine {
  size_t number = 0;     // of the line on which it begins, from 1
  std::string text;      // continuation lines joined
  std::string equation;  // the comment directly above, or empty
};
std::vector<RuleLine> SplitRules(absl::string_view file);

// INVALID_ARGUMENT naming the place. Terms nest at most 200 deep.
absl::StatusOr<RuleText> ParseRuleText(absl::string_view text);
absl::StatusOr<Term> ParseTerm(absl::string_view text);

}  // namespace quotient::egraph
