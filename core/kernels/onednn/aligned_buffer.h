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

// The memory is not initialized. Returns null if there is no memory, or if it is more than half of
// the machine's. Large buffers may get huge pages, like the weights of a serving process.
inline AlignedBuffer AllocateAligned(int64_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kHugePage = size_t{1} << 21;
  if (bytes > os::MemoryBytes() / 2) return nullptr;
  const auto wanted = static_cast<size_t>(bytes < 1 ? 1 : bytes);
  const size_t alignment = wanted >= kHugePage ? kHugePage : kLine;
  const size_t rounded = (wanted + alignment - 1) / alignment * alignment;
  AlignedBuffer buffer(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (buffer != nullptr && alignment == kHugePage) madvise(buffer.get(), rounded, MADV_HUGEPAGE);
  return buffer;
}

}  // namespace quotient::kernels::onednn
