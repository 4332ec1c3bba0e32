#include "core/kernels/onnxruntime/helper/memory.h"

#include <malloc.h>

#include <cstddef>

namespace quotient::kernels::onnxruntime {
namespace {

constexpr size_t kMostKept = size_t{1} << 26;

}  // namespace

// What is mapped for a single block is returned with it. Nothing is where none may be.
void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kMostKept));
}

ReturningLargeBlocks::ReturningLargeBlocks() {
  constexpr int kLarge = 1 << 18, kMostBlocks = 1 << 15;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_MMAP_MAX, kMostBlocks);
}

ReturningLargeBlocks::~ReturningLargeBlocks() { mallopt(M_MMAP_MAX, 0); }

// The library returns memory by itself only where it is free up to the heap's end.
void ReturnMemory() {
  if (mallinfo2().fordblks > kMostKept) malloc_trim(kMostKept);
}

}  // namespace quotient::kernels::onnxruntime
