#pragma once

// Makes random e-nodes and rules over a small alphabet: the leaves a b c; f with one child; g and h
// with two; k with any number; p[0] p[1] p[2], three words of one kind with one child.

#include <functional>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace quotient::testing {

struct RandomNode {
  std::string word;
  std::vector<size_t> children;  // Indices of nodes made before.
};

// Makes an e-node whose children are among `num_made` earlier ones.
RandomNode MakeRandomNode(Rng& rng, size_t num_made);

// Makes a rule that compiles, as text. It has one or two roots and nested left sides, sometimes
// with leaves, operator variables, a list or a guard. The right side uses only bound variables.
std::string MakeRandomRule(Rng& rng);

}  // namespace quotient::testing
