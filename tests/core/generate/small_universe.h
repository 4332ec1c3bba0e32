#pragma once

// A universe for tests, with a few matrices and images.

#include <string>
#include <vector>

#include "core/generate/universe.h"

namespace quotient::generate {

// Inputs x, y [2,3], weight w [3,3], image i [1,2,4,4]. Add, MatMul (with a weight), Concat on axes
// 0 and 1, Relu, Neg, ReduceMax on axis 1, MaxPool 5x5, GlobalMaxPool, Max, Mul.
Universe SmallUniverse();

// The same with only these operators and variables, by name.
Universe SmallUniverseOf(const std::vector<std::string>& operators,
                         const std::vector<std::string>& variables = {"x", "y"});

}  // namespace quotient::generate
