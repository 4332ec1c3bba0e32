#pragma once

// Random tuples, each there once.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.h"

namespace quotient {

// `count` tuples, one behind the other, whose k-th number is in [0, sizes[k]), or 0 where sizes[k]
// is less than 1. No two are the same if there are as many different ones; else any may be.
std::vector<int64_t> DistinctTuples(std::span<const int64_t> sizes, int64_t count, Rng& rng);

}  // namespace quotient
