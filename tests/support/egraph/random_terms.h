#pragma once

// Random e-graphs and rules over a small alphabet: leaves a b c; f of one child; g and h of two; k
// of any number; p[0] p[1] p[2], words of one kind, of one child.

#include <functional>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace quotient::testing {

struct RandomNode {
  std::string word;
  std::vector<size_t> children;  // indices of what was made before
};

// An e-node over `num_made` earlier ones.
RandomNode MakeRandomNode(Rng& rng, size_t num_made);

// A rule that compiles: one or two roots, nested left sides, sometimes leaves, operator variables,
// a list, a guard; on the right only bound variables.
std::string MakeRandomRule(Rng& rng);

}  // namespace quotient::testing
