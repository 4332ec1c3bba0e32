// A kernel that runs in a loop finds its weights in the cache. In a model it does not, because the
// other weights have evicted them. So constants are read from a pool of random floats that is as
// large as all constants of the model, further along at every run. The packed form of a constant is
// floats in some order, so any part of the pool will do and nothing needs packing.

#include "core/kernels/onednn/timed_kernel.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/random_operand.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Random floats shared by all kernels, read-only.
struct Pool {
  AlignedBuffer data;
  int64_t bytes = 0;
};

std::shared_ptr<const Pool> MakePool(int64_t bytes) {
  auto pool = std::make_shared<Pool>(Pool{AllocateAligned(bytes), bytes});
  if (pool->data == nullptr) return nullptr;
  constexpr int64_t kPattern = 1 << 18;  // Distinct floats; then they repeat.
  std::vector<float> pattern(kPattern);
  Rng rng(1);
  // About the size of trained weights, so that sums over them stay near 1. Larger ones would make
  // exp and erf in epilogues produce denormal numbers, which take many times as long.
  for (float& value : pattern) value = static_cast<float>(rng.Uniform(-0.125, 0.125));
  for (int64_t offset = 0; offset < bytes; offset += kPattern * 4) {
    std::memcpy(pool->data.get() + offset, pattern.data(),
                static_cast<size_t>(std::min(bytes - offset, kPattern * 4)));
  }
  return pool;
}

// A pool of at least `bytes`. The largest one so far lives as long as the process.
std::shared_ptr<const Pool> AcquirePool(int64_t bytes) {
  static std::mutex& mutex = *new std::mutex;
  static auto& largest = *new std::shared_ptr<const Pool>;
  const std::lock_guard lock(mutex);
  if (largest == nullptr || largest->bytes < bytes) {
    if (std::shared_ptr<const Pool> pool = MakePool(bytes))
      largest = std::move(pool);
    else
      return nullptr;
  }
  return largest;
}

int64_t SecondLevelCacheBytes() {
  constexpr int64_t kUsual = 1 << 20;
  const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsual;
}

// A part of the pool that is read at a position that advances with every run.
struct Rotation {
  const void** target = nullptr;
  int64_t offset = 0;  // Inside a step.
};

class TimedKernel : public CompiledKernel {
 public:
  static absl::StatusOr<std::unique_ptr<CompiledKernel>> Create(const KernelSpec& spec) {
    auto timed = std::unique_ptr<TimedKernel>(new TimedKernel(spec));
    QUOTIENT_RETURN_IF_ERROR(timed->Build());
    return timed;
  }

  absl::Status Run(int times) override {
    cpu::SetThreads(spec_.threads);
    for (int i = 0; i < times; ++i) {
      Rotate(constant_rotations_, constant_step_, constant_region_, constant_position_);
      Rotate(operand_rotations_, operand_step_, kOperandRegion, operand_position_);
      QUOTIENT_RETURN_IF_ERROR(
          kernel_->Run({operands_, constants_, outputs_, scratch_.get()}, state_.get()));
    }
    return absl::OkStatus();
  }

 private:
  // Activations too large for the second-level cache come from the third or from memory, so they
  // rotate over a region of this size in bytes.
  static constexpr int64_t kOperandRegion = int64_t{1} << 24;

  explicit TimedKernel(const KernelSpec& spec) : spec_(spec), all_(AllOperands(spec)) {}

  absl::Status Build() {
    cpu::SetThreads(spec_.threads);
    QUOTIENT_ASSIGN_OR_RETURN(kernel_, MakeKernel(spec_));
    state_ = kernel_->NewState();
    scratch_ = AllocateAligned(kernel_->scratch_bytes());
    QUOTIENT_RETURN_IF_ERROR(AddOutputs());
    QUOTIENT_RETURN_IF_ERROR(AddOperands());
    QUOTIENT_RETURN_IF_ERROR(AddConstants());
    constant_region_ = std::max(constant_step_, int64_t{1} << spec_.constant_footprint_log2);
    const bool rotates = !constant_rotations_.empty() || !operand_rotations_.empty();
    if (rotates) pool_ = AcquirePool(std::max({constant_region_, kOperandRegion, operand_step_}));
    if (scratch_ == nullptr || (rotates && pool_ == nullptr)) return OutOfMemory();
    return absl::OkStatus();
  }

  static absl::Status OutOfMemory() {
    return absl::ResourceExhaustedError("no memory for the data of a kernel");
  }

  absl::Status AddOutputs() {
    for (const Operand& output : spec_.outputs) {
      if (output.type.dtype == model::DType::kUndefined) {
        outputs_.push_back(nullptr);
        continue;
      }
      const int64_t bytes = StorageBytes(output.type);
      owned_.push_back(AllocateAligned(bytes));
      if (owned_.back() == nullptr) return OutOfMemory();
      // Poisons the memory, which also touches every page.
      std::memset(owned_.back().get(), 0xff, static_cast<size_t>(bytes));
      outputs_.push_back(owned_.back().get());
    }
    return absl::OkStatus();
  }

  absl::Status AddOperands() {
    static const int64_t cache_bytes = SecondLevelCacheBytes();
    operands_.resize(all_.size(), nullptr);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].constant || all_[i].type.dtype == model::DType::kUndefined) continue;
      const int64_t bytes = StorageBytes(all_[i].type);
      if (StoredAsFloat(all_[i].type.dtype) && bytes > cache_bytes) {
        operand_rotations_.push_back({&operands_[i], operand_step_});
        operand_step_ += Aligned(bytes);
        continue;
      }
      owned_.push_back(AllocateAligned(bytes));
      if (owned_.back() == nullptr) return OutOfMemory();
      cpu::PackTensor(RandomOperand(spec_, i, rng_), all_[i].layout, owned_.back().get());
      operands_[i] = owned_.back().get();
    }
    return absl::OkStatus();
  }

  // Constants of floats rotate. The values of others (indices) matter, so they are packed.
  absl::Status AddConstants() {
    const std::vector<cpu::PackedConstant>& constants = kernel_->constants();
    constants_.resize(constants.size(), nullptr);
    std::vector<void*> packed(constants.size(), nullptr);
    bool any_packed = false;
    for (size_t i = 0; i < constants.size(); ++i) {
      if (constants[i].any_floats) {
        constant_rotations_.push_back({&constants_[i], constant_step_});
        constant_step_ += Aligned(constants[i].bytes);
        continue;
      }
      owned_.push_back(AllocateAligned(constants[i].bytes));
      if (owned_.back() == nullptr) return OutOfMemory();
      constants_[i] = packed[i] = owned_.back().get();
      any_packed = true;
    }
    if (!any_packed) return absl::OkStatus();
    std::vector<model::Tensor> tensors;
    tensors.reserve(all_.size());
    std::vector<const model::Tensor*> pointers(all_.size(), nullptr);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].constant || StoredAsFloat(all_[i].type.dtype)) continue;
      tensors.push_back(RandomOperand(spec_, i, rng_));
      pointers[i] = &tensors.back();
    }
    return kernel_->Pack(pointers, packed);
  }

  void Rotate(const std::vector<Rotation>& rotations, int64_t step, int64_t region,
              int64_t& position) {
    if (rotations.empty()) return;
    if (position + step > region) position = 0;
    for (const Rotation& rotation : rotations) {
      *rotation.target = pool_->data.get() + position + rotation.offset;
    }
    position += step;
  }

  const KernelSpec spec_;
  const std::vector<Operand> all_;
  Rng rng_{2};
  std::unique_ptr<cpu::Kernel> kernel_;
  std::unique_ptr<cpu::KernelState> state_;
  std::shared_ptr<const Pool> pool_;
  std::vector<AlignedBuffer> owned_;
  AlignedBuffer scratch_;
  std::vector<const void*> operands_;
  std::vector<const void*> constants_;
  std::vector<void*> outputs_;
  std::vector<Rotation> constant_rotations_, operand_rotations_;
  int64_t constant_step_ = 0, operand_step_ = 0;  // Bytes of one copy of all that rotates.
  int64_t constant_region_ = 0;
  int64_t constant_position_ = 0, operand_position_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledKernel>> CompileTimedKernel(const KernelSpec& spec) {
  return TimedKernel::Create(spec);
}

}  // namespace quotient::kernels::onednn
