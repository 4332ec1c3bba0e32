#pragma once

// ParallelFor: the only way to run plain loops on several cores.

#include <cstdint>
#include <functional>

namespace quotient {

// Calls body(begin, end) on disjoint ranges that together cover [0, count), on up to `threads`
// threads including the caller's, and returns when all calls have ended. Ranges hold at least
// `grain` items, except the last. A body whose items are independent gives the same result for any
// number of threads. An exception of the body (such as bad_alloc) ends the loop early and is
// rethrown here.
void ParallelFor(int64_t count, int64_t grain, int threads,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace quotient
