#include "core/kernels/cuda/constant_pool.h"

#include <cstdint>

#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

absl::StatusOr<std::shared_ptr<const Buffer>> ConstantPool::Get(std::span<const std::byte> bytes) {
  const auto upload =
      [this](std::span<const std::byte> content) -> absl::StatusOr<std::shared_ptr<const Buffer>> {
    const auto size = static_cast<int64_t>(content.size());
    QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> buffer, gpu_.Allocate(size));
    QUOTIENT_RETURN_IF_ERROR(gpu_.Upload(buffer->address(), content.data(), size));
    return buffer;
  };
  return shared_.Get(bytes, upload);
}

}  // namespace quotient::kernels::cuda
