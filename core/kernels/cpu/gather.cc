#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

class GatherKernel : public PlainKernel {
 public:
  explicit GatherKernel(const KernelSpec& spec) : PlainKernel(spec) {
    const std::vector<int64_t> dims = spec.inputs[0].type.dims();
    int64_t axis = spec.attributes.GetInt("axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    axis_size_ = dims[axis];
    for (int64_t i = 0; i < axis; ++i) outer_ *= dims[i];
    row_bytes_ = StorageBytes(spec.inputs[0].type.dtype);
    for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) row_bytes_ *= dims[i];
    count_ = spec.inputs[1].type.elements();
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    if (spec_.inputs[1].type.dtype == model::DType::kInt32) {
      return Gather(static_cast<const int32_t*>(Data(buffers, 1)), buffers);
    }
    return Gather(static_cast<const int64_t*>(Data(buffers, 1)), buffers);
  }

 private:
  template <typename Index>
  absl::Status Gather(const Index* indices, const KernelBuffers& buffers) const {
    for (int64_t i = 0; i < count_; ++i) {
      if (indices[i] < -axis_size_ || indices[i] >= axis_size_) {
        return absl::FailedPreconditionError(
            absl::StrCat("Gather: index ", indices[i], " outside of ", axis_size_));
      }
    }
    const auto* data = static_cast<const std::byte*>(Data(buffers, 0));
    auto* out = static_cast<std::byte*>(buffers.outputs[0]);
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(row_bytes_, 1));
    ParallelRanges(outer_ * count_, grain, spec_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t index = indices[row % count_];
        const int64_t wrapped = index < 0 ? index + axis_size_ : index;
        std::memcpy(out + row * row_bytes_,
                    data + (row / count_ * axis_size_ + wrapped) * row_bytes_,
                    static_cast<size_t>(row_bytes_));
      }
    });
    return absl::OkStatus();
  }

  int64_t outer_ = 1;  // Rows before the axis.
  int64_t axis_size_ = 0;
  int64_t count_ = 0;      // Number of indices.
  int64_t row_bytes_ = 0;  // Size of what one index fetches.
};

}  // namespace

std::unique_ptr<Kernel> MakeGatherKernel(const KernelSpec& spec) {
  if (spec.op != "Gather" || spec.inputs.size() != 2) return nullptr;
  const model::DType index = spec.inputs[1].type.dtype;
  if (index != model::DType::kInt32 && index != model::DType::kInt64) return nullptr;
  if (StorageBytes(spec.inputs[0].type.dtype) == 0) return nullptr;
  return std::make_unique<GatherKernel>(spec);
}

}  // namespace quotient::kernels::cpu
