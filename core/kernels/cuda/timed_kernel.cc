#include "core/kernels/cuda/timed_kernel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/alignment.h"
#include "core/kernels/cuda/clock_watch.h"
#include "core/kernels/cuda/device_memory.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/random_operand.h"

namespace quotient::kernels::cuda {
namespace {

// Launches of one capture at most: more runs are several replays.
constexpr int kLongestChain = 64;
// Captures that are taken in turn, at most.
constexpr int kMostCaptures = 16;
// What is this often as large as the L2 drives out all else that is in it.
constexpr int64_t kCaches = 4;

// What all ways to run a kernel have in common: operands that stay where they are, outputs, and
// room for what they need besides.
struct SharedData {
  SharedData(Gpu* gpu, RandomPool* pool) : gpu(*gpu), pool(*pool), memory(gpu) {}

  Gpu& gpu;
  RandomPool& pool;
  DeviceMemory memory;
  PreparedKernel::Bindings bindings;  // all but constants, and operands that rotate
};

bool Rotates(const Operand& operand, const Gpu& gpu) {
  return StoredAsFloat(operand.type.dtype) && BytesOf(operand) > gpu.facts().l2_bytes / 2;
}

absl::StatusOr<std::shared_ptr<const SharedData>> MakeSharedData(const KernelSpec& spec,
                                                                 int64_t workspace_bytes, Gpu* gpu,
                                                                 RandomPool* pool) {
  auto data = std::make_shared<SharedData>(gpu, pool);
  for (const Operand& output : spec.outputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, data->memory.Allocate(BytesOf(output)));
    data->bindings.outputs.push_back(address);
  }
  Rng rng(1);
  const std::vector<Operand> operands = AllOperands(spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    DeviceAddress& address = data->bindings.operands.emplace_back(0);
    if (operands[i].constant || BytesOf(operands[i]) == 0 || Rotates(operands[i], *gpu)) continue;
    QUOTIENT_ASSIGN_OR_RETURN(address, data->memory.Upload(RandomOperand(spec, i, rng).bytes()));
  }
  QUOTIENT_ASSIGN_OR_RETURN(data->bindings.workspace, data->memory.Allocate(workspace_bytes));
  return data;
}

// A buffer that is read from the pool: `offset` behind where a launch's part of it begins.
struct Rotating {
  std::vector<DeviceAddress> PreparedKernel::Bindings::*list;
  size_t index;
  model::DType type;
  int64_t offset;
};

// What rotates together over a region of the pool.
struct Rotation {
  std::vector<Rotating> buffers;
  int64_t step = 0;    // bytes that one launch reads
  int64_t region = 0;  // bytes that are read before it begins anew
  int64_t position = 0;
};

class TimedKernel : public CompiledKernel {
 public:
  TimedKernel(const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
              std::shared_ptr<const SharedData> data)
      : spec_(spec),
        operands_(AllOperands(spec)),
        kernel_(std::move(kernel)),
        data_(std::move(data)),
        memory_(&data_->gpu),
        bindings_(data_->bindings) {}

  absl::Status Build() {
    bindings_.constants.resize(kernel_->program().constants.size(), 0);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].constant || !Rotates(operands_[i], data_->gpu)) continue;
      Rotate(activations_, &PreparedKernel::Bindings::operands, i, operands_[i].type.dtype,
             BytesOf(operands_[i]));
    }
    QUOTIENT_RETURN_IF_ERROR(AddConstants());
    const int64_t cold = kCaches * data_->gpu.facts().l2_bytes;
    constants_.region = std::max(constants_.step, int64_t{1} << spec_.constant_footprint_log2);
    activations_.region = std::max(activations_.step, cold);
    for (Rotation* rotation : {&constants_, &activations_}) {
      for (const Rotating& buffer : rotation->buffers) {
        QUOTIENT_ASSIGN_OR_RETURN(
            pools_[buffer.type],
            data_->pool.Get(buffer.type, std::max(constants_.region, activations_.region)));
      }
      if (rotation->step > 0) {
        cycle_ = std::max(cycle_, std::min(rotation->region, cold) / rotation->step);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(int times) override {
    const int chain = std::min(times, kLongestChain);
    const int rounds = (times + chain - 1) / chain;
    DeviceReading total;
    for (int round = 0; round < rounds; ++round) {
      QUOTIENT_ASSIGN_OR_RETURN(Replay* const replay, NextReplay(chain));
      QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, replay->Run());
      const DeviceReading judged = clock_.Judge(reading);
      total.us += judged.us;
      total.clean = total.clean && judged.clean;
    }
    total.us *= static_cast<double>(times) / (static_cast<double>(chain) * rounds);
    reading_ = total;
    return absl::OkStatus();
  }

  std::optional<DeviceReading> reading() const override { return reading_; }
  std::string plan() const override { return kernel_->name(); }

 private:
  // The captures of a chain, in the order in which they are replayed.
  struct Captures {
    std::vector<std::unique_ptr<Replay>> replays;
    size_t next = 0;
  };

  // Constants that are floats are any stretch of the pool, in whatever form they are packed.
  absl::Status AddConstants() {
    Rng rng(2);
    const std::vector<PackedConstant>& constants = kernel_->program().constants;
    for (size_t i = 0; i < constants.size(); ++i) {
      if (StoredAsFloat(constants[i].type)) {
        Rotate(constants_, &PreparedKernel::Bindings::constants, i, constants[i].type,
               BytesOf(constants[i], operands_));
        continue;
      }
      const auto operand = static_cast<size_t>(constants[i].operand);
      QUOTIENT_ASSIGN_OR_RETURN(bindings_.constants[i],
                                memory_.Upload(RandomOperand(spec_, operand, rng).bytes()));
    }
    return absl::OkStatus();
  }

  static void Rotate(Rotation& rotation, std::vector<DeviceAddress> PreparedKernel::Bindings::*list,
                     size_t index, model::DType type, int64_t bytes) {
    rotation.buffers.push_back({list, index, type, rotation.step});
    rotation.step += Aligned(bytes);
  }

  void Advance(Rotation& rotation) {
    for (const Rotating& buffer : rotation.buffers) {
      (bindings_.*buffer.list)[buffer.index] =
          pools_.at(buffer.type)->address() +
          static_cast<DeviceAddress>(rotation.position + buffer.offset);
    }
    rotation.position += rotation.step;
    if (rotation.position + rotation.step > rotation.region) rotation.position = 0;
  }

  // Captured at its first turn, and run once so that nothing of that is timed.
  absl::StatusOr<Replay*> NextReplay(int chain) {
    Captures& captures = captures_[chain];
    const auto wanted =
        static_cast<size_t>(std::clamp<int64_t>((cycle_ + chain - 1) / chain, 1, kMostCaptures));
    if (captures.replays.size() < wanted) {
      QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Replay> replay, Capture(chain));
      captures.replays.push_back(std::move(replay));
      captures.next = captures.replays.size() - 1;
    }
    Replay* const replay = captures.replays[captures.next].get();
    captures.next = (captures.next + 1) % wanted;
    return replay;
  }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(int chain) {
    std::vector<Step> steps;
    for (int i = 0; i < chain; ++i) {
      Advance(constants_);
      Advance(activations_);
      kernel_->AppendSteps(bindings_, &steps);
    }
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Replay> replay, data_->gpu.Capture(steps));
    QUOTIENT_RETURN_IF_ERROR(replay->Run().status());
    return replay;
  }

  const KernelSpec spec_;
  const std::vector<Operand> operands_;
  const std::shared_ptr<const PreparedKernel> kernel_;
  const std::shared_ptr<const SharedData> data_;
  DeviceMemory memory_;
  std::map<model::DType, std::shared_ptr<const Buffer>> pools_;
  PreparedKernel::Bindings bindings_;
  Rotation constants_;
  Rotation activations_;
  int64_t cycle_ = 1;  // launches until nothing of the first one is in the L2
  ClockWatch clock_;
  std::map<int, Captures> captures_;  // by the length of the chain; before what it launches
  std::optional<DeviceReading> reading_;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> NewTimedKernels(
    const KernelSpec& spec, const std::vector<std::shared_ptr<const PreparedKernel>>& kernels,
    Gpu* gpu, RandomPool* pool) {
  int64_t workspace_bytes = 0;
  for (const auto& kernel : kernels) {
    workspace_bytes = std::max(workspace_bytes, kernel->workspace_bytes());
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const SharedData> data,
                            MakeSharedData(spec, workspace_bytes, gpu, pool));
  std::vector<std::unique_ptr<CompiledKernel>> timed;
  for (const auto& kernel : kernels) {
    auto one = std::make_unique<TimedKernel>(spec, kernel, data);
    QUOTIENT_RETURN_IF_ERROR(one->Build());
    timed.push_back(std::move(one));
  }
  return timed;
}

}  // namespace quotient::kernels::cuda
