// A kernel that runs in a loop finds its data where its last run left it. In a model it finds other
// data in the caches:
//
// - Its weights have been evicted by the other weights. So constants are read from a pool of random
//   floats that is as large as all constants of the model, further along at every run of any
//   kernel: two that read the same part after each other would find it in the cache. The packed
//   form of a constant is floats in some order, so any part of the pool will do and nothing needs
//   packing.
// - Its operands were written by the kernel before, so the part that was written last is in the
//   second-level cache. A loop over more data than this cache holds finds none of it there. So
//   Refresh writes the operands of such kernels before each run, and before these the output, whose
//   memory has held other values a moment ago.
// - Its threads are awake, since the kernel before used them. Between samples they may have fallen
//   asleep, and waking takes longer than many kernels, so Refresh wakes them.
// - Element-wise kernels overwrite an operand (memory_plan.h). So do these, if Refresh restores it.

#include "core/kernels/onednn/timed_kernel.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/random_operand.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Random floats shared by all kernels.
struct Pool {
  AlignedBuffer data;  // Read-only.
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

// The largest pool so far.
class LargestPool {
 public:
  // A pool of at least `bytes`; null if there is no memory for it.
  std::shared_ptr<const Pool> Acquire(int64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    if (pool_ == nullptr || pool_->bytes < bytes) {
      std::shared_ptr<const Pool> pool = MakePool(bytes);
      if (pool == nullptr) return nullptr;
      pool_ = std::move(pool);
    }
    return pool_;
  }
  void Release() {
    const absl::MutexLock lock(&mutex_);
    pool_.reset();
  }

 private:
  absl::Mutex mutex_;
  std::shared_ptr<const Pool> pool_ ABSL_GUARDED_BY(mutex_);
};

LargestPool& Pools() {
  static auto& pools = *new LargestPool;
  return pools;
}

// What is read of the pool for a model of that footprint class: the middle of the class.
int64_t RegionBytes(int footprint_log2) {
  constexpr int64_t kMost = int64_t{1} << 28;  // Far more than caches hold.
  const int64_t least = int64_t{1} << footprint_log2;
  return std::min(least + least / 2, kMost);
}

// Takes the next `bytes` of the first `region` bytes of a pool, and returns their offset. There is
// one position for all kernels.
int64_t TakeFromPool(int64_t bytes, int64_t region) {
  static std::atomic<int64_t> position = 0;
  int64_t from = position.load();
  int64_t taken = 0;
  do {
    taken = from + bytes > region ? 0 : from;
  } while (!position.compare_exchange_weak(from, taken + bytes));
  return taken;
}

int64_t SecondLevelCacheBytes() {
  constexpr int64_t kUsual = 1 << 20;
  const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsual;
}

// What Refresh fills operands with: few enough floats to stay in the first-level cache.
constexpr int64_t kFillFloats = 1 << 10;
using Fill = std::array<float, kFillFloats>;

const Fill& RandomFill() {
  static const Fill& fill = *new Fill([] {
    Fill values;
    Rng rng(3);
    for (float& value : values) value = static_cast<float>(rng.Uniform(-1, 1));
    return values;
  }());
  return fill;
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

  bool Refresh() override {
    cpu::SetThreads(spec_.threads);
    cpu::ParallelRanges(spec_.threads, 1, spec_.threads, [](int64_t, int64_t) {});
    if (!needs_refresh_) return false;
    for (const Written& output : outputs_before_) Write(output);
    // The first operand is the one that was written last.
    std::for_each(operands_before_.rbegin(), operands_before_.rend(),
                  [this](const Written& operand) { Write(operand); });
    return true;
  }

  int64_t bytes() const override { return activation_bytes_ + kernel_->scratch_bytes(); }

  absl::Status Run(int times) override {
    cpu::SetThreads(spec_.threads);
    for (int i = 0; i < times; ++i) {
      RotateConstants();
      QUOTIENT_RETURN_IF_ERROR(
          kernel_->Run({operands_, constants_, outputs_, scratch_.get()}, state_.get()));
    }
    return absl::OkStatus();
  }

 private:
  // An operand or output of floats.
  struct Written {
    size_t index = 0;
    float* data = nullptr;
    int64_t bytes = 0;
  };

  explicit TimedKernel(const KernelSpec& spec) : spec_(spec), all_(AllOperands(spec)) {}

  absl::Status Build() {
    static const int64_t cache_bytes = SecondLevelCacheBytes();
    cpu::SetThreads(spec_.threads);
    QUOTIENT_ASSIGN_OR_RETURN(kernel_, MakeKernel(spec_));
    state_ = kernel_->NewState();
    scratch_ = AllocateAligned(kernel_->scratch_bytes());
    QUOTIENT_RETURN_IF_ERROR(AddOutputs());
    QUOTIENT_RETURN_IF_ERROR(AddOperands());
    QUOTIENT_RETURN_IF_ERROR(AddConstants());
    // One half is left to what else is in the cache.
    needs_refresh_ = activation_bytes_ + constant_step_ > cache_bytes / 2;
    if (needs_refresh_) RunInPlace();
    constant_region_ = std::max(constant_step_, RegionBytes(spec_.constant_footprint_log2));
    const bool rotates = !constant_rotations_.empty();
    if (rotates) pool_ = Pools().Acquire(constant_region_);
    if (scratch_ == nullptr || (rotates && pool_ == nullptr)) return OutOfMemory();
    return absl::OkStatus();
  }

  static absl::Status OutOfMemory() {
    return absl::ResourceExhaustedError("no memory for the data of a kernel");
  }

  absl::Status AddOutputs() {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      const Operand& output = spec_.outputs[i];
      if (output.type.dtype == model::DType::kUndefined) {
        outputs_.push_back(nullptr);
        continue;
      }
      const int64_t bytes = StorageBytes(output.type);
      activation_bytes_ += bytes;
      owned_.push_back(AllocateAligned(bytes));
      if (owned_.back() == nullptr) return OutOfMemory();
      // Poisons the memory, which also touches every page.
      std::memset(owned_.back().get(), 0xff, static_cast<size_t>(bytes));
      outputs_.push_back(owned_.back().get());
      if (!StoredAsFloat(output.type.dtype)) continue;
      outputs_before_.push_back({i, reinterpret_cast<float*>(owned_.back().get()), bytes});
    }
    return absl::OkStatus();
  }

  absl::Status AddOperands() {
    operands_.resize(all_.size(), nullptr);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].constant || all_[i].type.dtype == model::DType::kUndefined) continue;
      const int64_t bytes = StorageBytes(all_[i].type);
      activation_bytes_ += bytes;
      owned_.push_back(AllocateAligned(bytes));
      if (owned_.back() == nullptr) return OutOfMemory();
      cpu::PackTensor(RandomOperand(spec_, i, rng_), all_[i].layout, owned_.back().get());
      operands_[i] = owned_.back().get();
      if (!StoredAsFloat(all_[i].type.dtype)) continue;
      operands_before_.push_back({i, reinterpret_cast<float*>(owned_.back().get()), bytes});
    }
    return absl::OkStatus();
  }

  // Makes the kernel overwrite an operand, if it may.
  void RunInPlace() {
    const auto overwritten = std::ranges::find_if(operands_before_, [this](const Written& operand) {
      return MayOverwrite(spec_, operand.index);
    });
    if (overwritten == operands_before_.end()) return;
    outputs_[0] = overwritten->data;
    std::erase_if(outputs_before_, [](const Written& output) { return output.index == 0; });
  }

  void Write(const Written& written) const {
    constexpr int64_t kFillBytes = kFillFloats * static_cast<int64_t>(sizeof(float));
    constexpr int64_t kGrain = 4;  // So many fills are worth another thread.
    const int64_t fills = (written.bytes + kFillBytes - 1) / kFillBytes;
    cpu::ParallelRanges(fills, kGrain, spec_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t fill = begin; fill < end; ++fill) {
        const int64_t bytes = std::min(kFillBytes, written.bytes - fill * kFillBytes);
        std::memcpy(written.data + fill * kFillFloats, RandomFill().data(),
                    static_cast<size_t>(bytes));
      }
    });
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

  void RotateConstants() {
    if (constant_rotations_.empty()) return;
    const int64_t position = TakeFromPool(constant_step_, constant_region_);
    for (const Rotation& rotation : constant_rotations_) {
      *rotation.target = pool_->data.get() + position + rotation.offset;
    }
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
  std::vector<Written> operands_before_, outputs_before_;  // What Refresh writes.
  int64_t activation_bytes_ = 0;                           // Bytes of operands and outputs.
  bool needs_refresh_ = false;
  std::vector<Rotation> constant_rotations_;
  int64_t constant_step_ = 0;  // Bytes of one copy of all constants that rotate.
  int64_t constant_region_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledKernel>> CompileTimedKernel(const KernelSpec& spec) {
  return TimedKernel::Create(spec);
}

void ReleaseRandomWeights() { Pools().Release(); }

}  // namespace quotient::kernels::onednn
