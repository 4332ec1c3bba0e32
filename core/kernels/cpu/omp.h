#pragma once

// The OpenMP thread pool, which is shared with the kernel library because two pools would compete
// for the cores.

#include <cstdint>
#include <functional>

namespace quotient::kernels::cpu {

// Sets how many threads kernel libraries use when called by the calling thread.
void SetThreads(int threads);

// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to `threads` threads of
// the pool. Ranges hold at least `grain` items, except the last. Uses only the calling thread if
// that is enough.
void ParallelRanges(int64_t count, int64_t grain, int threads,
                    const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace quotient::kernels::cpu
