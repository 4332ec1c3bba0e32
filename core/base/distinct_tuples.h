#pragma once

// Distinct random tuples.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.h"

namespace quotient {

// Draws `count` tuples and returns them one after the other. The k-th number of a tuple is in [0,
// sizes[k]), or 0 if sizes[k] is less than 1. The tuples are distinct if there are enough different
// ones; otherwise they may repeat.
std::vector<int64_t> DistinctTuples(std::span<const int64_t> sizes, int64_t count, Rng& rng);

}  // namespace quotient
