#pragma once

// Rewrites as pairs of graphs: wrong ones, each unsound in another way, and right ones that look
// alike. What is not said of a graph is the same on both sides.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::testing {

struct Rewrite {
  const char* name;
  const char* claim;   // what the rewrite takes for granted, or why it is right
  const char* inputs;  // inputs and constants
  const char* left;    // nodes that end in y
  const char* right;

  std::string Left() const { return Text(left); }
  std::string Right() const { return Text(right); }

 private:
  std::string Text(absl::string_view nodes) const;
};

const std::vector<Rewrite>& WrongRewrites();
const std::vector<Rewrite>& RightRewrites();

}  // namespace quotient::testing
