#pragma once

// Rewrites as pairs of graphs: wrong ones, each unsound in a different way, and similar ones that
// are right. Both graphs of a pair have the same inputs and constants.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::testing {

struct Rewrite {
  const char* name;
  const char* claim;   // The assumption that makes the rewrite wrong, or why it is right.
  const char* inputs;  // Inputs and constants.
  const char* left;    // Nodes, the last of which computes y.
  const char* right;

  std::string Left() const { return Text(left); }
  std::string Right() const { return Text(right); }

 private:
  std::string Text(absl::string_view nodes) const;
};

const std::vector<Rewrite>& WrongRewrites();
const std::vector<Rewrite>& RightRewrites();

}  // namespace quotient::testing
