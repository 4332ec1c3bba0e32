#pragma once

// The cases of the rules, read from cases/*.txt. A file has a head, lines that all of its graphs
// begin with, and then cases:
//
//   rule add-zero
//   fires z                 # a graph that the rule rewrites, with its outputs
//     z = Add(x, zero)
//   refused z               # one that looks alike and that it must leave alone
//     z = Add(x, half)

#include <string>
#include <vector>

namespace quotient::rules {

struct RuleCase {
  std::string rule;
  std::string fires;  // graphs in text form
  std::string refused;
};

// Of all files, in order. Ends the program if a file is missing or is not of that form.
const std::vector<RuleCase>& RuleCases();

}  // namespace quotient::rules
