#pragma once

// Reads the test cases of rules from cases/*.txt. A file begins with lines that all of its graphs
// share. Cases follow:
//
//   rule add-zero
//   fires z                 # a graph that the rule rewrites, with its outputs
//     z = Add(x, zero)
//   refused z               # one that looks alike and that it must leave alone
//     z = Add(x, half)
//
// Sizes may be symbols.

#include <string>
#include <vector>

namespace quotient::rules {

// An opset at which every rule may apply: the newest that a rule needs.
inline constexpr int kNewestOpset = 24;

struct RuleCase {
  std::string rule;
  std::string fires;  // Graph in text form, as is `refused`.
  std::string refused;
};

// The cases of all files, in order. Ends the program if a file is missing or malformed.
const std::vector<RuleCase>& RuleCases();

}  // namespace quotient::rules
