// The functions below are those of the C library, which calls its own by other names (__libc_...).
// Every allocation of the program goes through them, also those of operator new and of libraries.

#include "tests/support/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {

std::atomic<int64_t> allocated{0};
std::atomic<int64_t> peak{0};

void Add(int64_t bytes) {
  const int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t before = peak.load(std::memory_order_relaxed);
  while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

int64_t SizeOf(void* memory) { return static_cast<int64_t>(malloc_usable_size(memory)); }

void* Counted(void* memory) {
  if (memory != nullptr) Add(SizeOf(memory));
  return memory;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return Counted(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) {
  return Counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void* realloc(void* memory, size_t bytes) {
  const int64_t before = memory != nullptr ? SizeOf(memory) : 0;
  void* const moved = __libc_realloc(memory, bytes);
  if (moved != nullptr || bytes == 0) Add(-before);
  return Counted(moved);
}
void free(void* memory) {
  if (memory != nullptr) Add(-SizeOf(memory));
  __libc_free(memory);
}

}  // extern "C"

namespace quotient::testing {

int64_t AllocatedBytes() { return allocated.load(std::memory_order_relaxed); }
int64_t PeakBytes() { return peak.load(std::memory_order_relaxed); }
void ResetPeakBytes() { peak.store(AllocatedBytes(), std::memory_order_relaxed); }

}  // namespace quotient::testing
