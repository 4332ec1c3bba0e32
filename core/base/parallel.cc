#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace quotient {

void ParallelFor(int64_t count, int64_t grain, int threads,
                 const std::function<void(int64_t begin, int64_t end)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<int64_t>(std::max(threads, 1), chunks));
  if (workers == 1) {
    body(0, count);
    return;
  }
  std::atomic<int64_t> next{0};
  std::once_flag once;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
        body(chunk * grain, std::min(count, (chunk + 1) * grain));
      }
    } catch (...) {
      std::call_once(once, [&thrown] { thrown = std::current_exception(); });
      next = chunks;  // Stops the other threads.
    }
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(workers - 1);
    for (int i = 1; i < workers; ++i) helpers.emplace_back(work);
    work();
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace quotient
