#include "core/base/distinct_tuples.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"

namespace quotient {
namespace {

// The number of different tuples, limited to the largest int64_t.
int64_t CountTuples(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return count;
}

// Draws numbers below `all`: without replacement by R. Floyd's algorithm (Bentley: "Programming
// Pearls: a sample of brilliance", CACM 30, 1987), or with replacement if `all` is too small.
std::vector<int64_t> Sample(int64_t all, int64_t count, Rng& rng) {
  std::vector<int64_t> sample;
  sample.reserve(static_cast<size_t>(count));
  absl::flat_hash_set<int64_t> taken;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t last = all < count ? all - 1 : all - count + i;
    const auto drawn = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(last) + 1));
    const bool is_new = taken.insert(drawn).second || all < count;
    if (!is_new) taken.insert(last);
    sample.push_back(is_new ? drawn : last);
  }
  return sample;
}

}  // namespace

std::vector<int64_t> DistinctTuples(std::span<const int64_t> sizes, int64_t count, Rng& rng) {
  std::vector<int64_t> numbers(static_cast<size_t>(count) * sizes.size());
  size_t end = 0;
  for (int64_t tuple : Sample(CountTuples(sizes), count, rng)) {
    end += sizes.size();
    for (size_t k = 1; k <= sizes.size(); ++k) {  // The last number varies fastest.
      const int64_t size = std::max<int64_t>(sizes[sizes.size() - k], 1);
      numbers[end - k] = tuple % size;
      tuple /= size;
    }
  }
  return numbers;
}

}  // namespace quotient
