#include "core/extract/block_memory.h"

#include <utility>

namespace quotient::extract {

void BlockMemory::Remember(Content content, Solution solution) {
  constexpr size_t kPerEntry = 16;  // The size of the entry itself, in numbers.
  if (num_numbers_ > kMostNumbers) {
    solutions_.clear();
    num_numbers_ = 0;
  }
  num_numbers_ += solution.choice.size() + kPerEntry;
  solutions_.insert_or_assign(content, std::move(solution));
}

}  // namespace quotient::extract
