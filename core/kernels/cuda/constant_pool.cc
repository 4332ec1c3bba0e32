#include "core/kernels/cuda/constant_pool.h"

#include <cstdint>

#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

absl::StatusOr<std::shared_ptr<const Buffer>> ConstantPool::Get(std::span<const std::byte> bytes) {
  const Digest digest = Digest::Of(bytes);
  const absl::MutexLock lock(&mutex_);
  if (const auto found = buffers_.find(digest); found != buffers_.end()) {
    if (std::shared_ptr<const Buffer> buffer = found->second.lock()) return buffer;
  }
  const auto size = static_cast<int64_t>(bytes.size());
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> buffer, gpu_.Allocate(size));
  QUOTIENT_RETURN_IF_ERROR(gpu_.Upload(buffer->address(), bytes.data(), size));
  absl::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
  buffers_[digest] = buffer;
  return buffer;
}

}  // namespace quotient::kernels::cuda
