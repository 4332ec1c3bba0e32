#pragma once

// ParallelFor: the one way of using several cores for plain loops.

#include <cstdint>
#include <functional>

namespace quotient {

// Calls body(begin, end) on disjoint ranges that together cover [0, count), on up to `threads`
// threads (the caller's among them), and returns when all have ended. Ranges hold at least `grain`
// items but for the last. How the work is cut depends on count, grain and threads only through
// the ranges, so a body whose items are independent gives the same result for any thread count.
// What a body throws (as bad_alloc) ends the loop early and is thrown again here.
void ParallelFor(int64_t count, int64_t grain, int threads,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace quotient
