#include "core/kernels/onednn/packer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "core/kernels/alignment.h"
#include "core/kernels/kernel_spec.h"
#include "core/os/files.h"

namespace quotient::kernels::onednn {
namespace {

constexpr int64_t kSlabBytes = 4 * kHugePageBytes;
constexpr int64_t kMostStaged = int64_t{1} << 25;
constexpr int64_t kMostRead = int64_t{1} << 24;

// Equal kernels that read equal tensors have the same constants, in one graph, as layers that share
// their weights, and in others.
Digest RecipeOf(const KernelSpec& spec, const std::vector<const model::Tensor*>& tensors) {
  std::string recipe = KernelKey(spec);
  for (const model::Tensor* const tensor : tensors) {
    absl::StrAppend(&recipe, " ", tensor != nullptr ? tensor->digest().Hex() : "-");
  }
  return Digest::Of(recipe);
}

absl::StatusOr<std::shared_ptr<std::byte>> Alone(int64_t bytes) {
  AlignedBuffer buffer = AllocateAligned(bytes);
  if (buffer == nullptr) return OutOfMemory(bytes);
  return std::shared_ptr<std::byte>(std::move(buffer));
}

}  // namespace

absl::Status OutOfMemory(int64_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
}

absl::StatusOr<PackedConstants> Packer::Pack(const KernelGroup& group, const cpu::Kernel& kernel) {
  if (kernel.constants().empty()) return PackedConstants();
  const Tensors tensors = TensorsOf(group);
  const Digest recipe = RecipeOf(group.spec, tensors);
  std::optional<PackedConstants> packed = pool_.Find(recipe);
  if (!packed.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(packed, PackNew(tensors, kernel));
    pool_.Keep(recipe, *packed);
  }
  ReleaseRead(tensors);
  return *std::move(packed);
}

Packer::Tensors Packer::TensorsOf(const KernelGroup& group) const {
  Tensors tensors;
  const std::vector<Operand> operands = AllOperands(group.spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool given = group.operands[i].valid() && operands[i].constant;
    tensors.push_back(given ? &*graph_.value(group.operands[i]).constant : nullptr);
  }
  return tensors;
}

absl::StatusOr<PackedConstants> Packer::PackNew(const Tensors& tensors, const cpu::Kernel& kernel) {
  QUOTIENT_ASSIGN_OR_RETURN(const Staged staged, Stage(kernel));
  QUOTIENT_RETURN_IF_ERROR(kernel.Pack(tensors, staged.places));
  PackedConstants packed;
  for (size_t i = 0; i < staged.places.size(); ++i) {
    const std::span bytes(static_cast<const std::byte*>(staged.places[i]),
                          static_cast<size_t>(kernel.constants()[i].bytes));
    const auto keep = [&](std::span<const std::byte> given) -> Shared {
      if (staged.own[i] != nullptr) return staged.own[i];
      return Copy(given);
    };
    QUOTIENT_ASSIGN_OR_RETURN(packed.emplace_back(), pool_.by_content().Get(bytes, keep));
  }
  return packed;
}

absl::StatusOr<Packer::Staged> Packer::Stage(const cpu::Kernel& kernel) {
  int64_t bytes = 0;
  for (const cpu::PackedConstant& constant : kernel.constants()) {
    if (constant.bytes <= kMostStaged) bytes += Aligned(constant.bytes);
  }
  if (bytes > staged_bytes_) {
    staged_ = AllocateAligned(bytes);
    staged_bytes_ = staged_ != nullptr ? bytes : 0;
    if (staged_ == nullptr) return OutOfMemory(bytes);
  }
  Staged staged;
  int64_t offset = 0;
  for (const cpu::PackedConstant& constant : kernel.constants()) {
    if (constant.bytes > kMostStaged) {
      QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> own, Alone(constant.bytes));
      staged.places.push_back(own.get());
      staged.own.push_back(std::move(own));
      continue;
    }
    staged.places.push_back(staged_.get() + offset);
    staged.own.push_back(nullptr);
    offset += Aligned(constant.bytes);
  }
  return staged;
}

// What was read of mapped files is not needed any more. Now and then their memory is given back.
void Packer::ReleaseRead(const Tensors& tensors) {
  for (const model::Tensor* const tensor : tensors) {
    if (tensor != nullptr) read_bytes_ += static_cast<int64_t>(tensor->bytes().size());
  }
  if (read_bytes_ < kMostRead) return;
  os::ReleaseMappedFiles();
  read_bytes_ = 0;
}

Packer::Shared Packer::Copy(std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> copy,
                            size < kHugePageBytes ? FromSlab(size) : Alone(size));
  std::ranges::copy(bytes, copy.get());
  return copy;
}

// Smaller constants lie side by side, because only what fills whole huge pages gets them, and
// weights in small pages come from memory at two thirds of the rate. The slab lives as long as one
// of its constants.
absl::StatusOr<std::shared_ptr<std::byte>> Packer::FromSlab(int64_t bytes) {
  if (slab_ == nullptr || slab_used_ + bytes > kSlabBytes) {
    QUOTIENT_ASSIGN_OR_RETURN(slab_, Alone(kSlabBytes));
    slab_used_ = 0;
  }
  const std::shared_ptr<std::byte> part(slab_, slab_.get() + slab_used_);
  slab_used_ += Aligned(bytes);
  return part;
}

}  // namespace quotient::kernels::onednn
