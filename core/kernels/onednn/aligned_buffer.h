#pragma once

// Owned memory that is aligned for vector loads and for huge pages.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/os/memory.h"

namespace quotient::kernels::onednn {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte, FreeDeleter>;

inline constexpr int64_t kHugePageBytes = int64_t{1} << 21;

// The memory is not initialized. Returns null if there is no memory, or if it is more than half of
// the machine's. What fills whole huge pages may get them, like the weights of a serving process;
// what remains takes no more than it needs.
inline AlignedBuffer AllocateAligned(int64_t bytes) {
  constexpr size_t kLine = 64;
  constexpr auto kHugePage = static_cast<size_t>(kHugePageBytes);
  if (bytes > os::MemoryBytes() / 2) return nullptr;
  const auto wanted = static_cast<size_t>(bytes < 1 ? 1 : bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, wanted >= kHugePage ? kHugePage : kLine, wanted) != 0) return nullptr;
  if (wanted >= kHugePage) madvise(memory, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
  return AlignedBuffer(static_cast<std::byte*>(memory));
}

}  // namespace quotient::kernels::onednn
