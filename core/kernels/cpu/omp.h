#pragma once

// The OpenMP thread pool, shared with the kernel library: two pools on one machine would fight for
// its cores.

#include <cstdint>
#include <functional>

namespace quotient::kernels::cpu {

// Sets how many threads kernel libraries use when called from the calling thread.
void SetThreads(int threads);

// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to `threads` threads of
// the pool; ranges hold at least `grain` items but for the last. On the calling thread alone if
// that is enough.
void ParallelRanges(int64_t count, int64_t grain, int threads,
                    const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace quotient::kernels::cpu
