#include "core/kernels/cpu/omp.h"

#include <algorithm>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

// Uses libgomp's own interface (its manual, "The libgomp ABI") instead of `#pragma omp`, because
// clang would link LLVM's runtime, a second pool beside the one of the kernel library.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
void omp_set_num_threads(int threads);
}

namespace quotient::kernels::cpu {
namespace {

struct Work {
  const std::function<void(int64_t, int64_t)>* body;
  int64_t count;
  int64_t grain;
};

// libgomp is not instrumented. These tell the thread sanitizer that the shares see what happened
// before the fork, and that the joining thread sees what the shares did.
void BeforeForkOrJoin([[maybe_unused]] void* work) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(work);
#endif
}
void AfterForkOrJoin([[maybe_unused]] void* work) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(work);
#endif
}

void RunShareOf(const Work& work) {
  const int64_t threads = omp_get_num_threads();
  const int64_t chunks = (work.count + work.grain - 1) / work.grain;
  const int64_t first = chunks * omp_get_thread_num() / threads;
  const int64_t last = chunks * (omp_get_thread_num() + 1) / threads;
  if (first >= last) return;
  (*work.body)(first * work.grain, std::min(work.count, last * work.grain));
}

void RunShare(void* data) {
  AfterForkOrJoin(data);
  RunShareOf(*static_cast<const Work*>(data));
  BeforeForkOrJoin(data);
}

}  // namespace

void SetThreads(int threads) { omp_set_num_threads(threads); }

void ParallelRanges(int64_t count, int64_t grain, int threads,
                    const std::function<void(int64_t begin, int64_t end)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (count + grain - 1) / grain;
  const int64_t used = std::min<int64_t>(threads, chunks);
  if (used <= 1) {
    body(0, count);
    return;
  }
  Work work{&body, count, grain};
  BeforeForkOrJoin(&work);
  GOMP_parallel(RunShare, &work, static_cast<unsigned>(used), 0);
  AfterForkOrJoin(&work);
}

}  // namespace quotient::kernels::cpu
