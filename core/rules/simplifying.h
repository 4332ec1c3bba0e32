#pragma once

// The rules that simplify: each removes an operator, merges it into weights, or brings operators
// into the form in which another of these rules can. Left out is what pays on some devices only:
// merging kernels that may be faster alone, moving work to where there is less of it, and what
// breaks the spellings that runtimes fuse. That is left to a search that measures.

#include <string>
#include <vector>

namespace quotient::rules {

std::vector<std::string> SimplifyingRules();

// The names of all other rules, as BuildRules takes them.
std::vector<std::string> RulesThatMayLose();

}  // namespace quotient::rules
