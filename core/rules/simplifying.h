#pragma once

// The rules that simplify: each removes an operator, merges it into weights, or brings operators
// into the form in which another of these rules can. None adds work in order to save calls, takes
// an operator apart, or merges kernels that a runtime may run faster alone. Which of these pays
// depends on a device, and is left to a search that measures.

#include <string>
#include <vector>

namespace quotient::rules {

std::vector<std::string> SimplifyingRules();

// The names of all other rules, as BuildRules takes them.
std::vector<std::string> RulesThatMayLose();

}  // namespace quotient::rules
