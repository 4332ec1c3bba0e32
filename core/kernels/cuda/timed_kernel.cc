#include "core/kernels/cuda/timed_kernel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/random_operand.h"

namespace quotient::kernels::cuda {
namespace {

constexpr int64_t kAlignment = 256;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Launches of one capture at most: more runs are several replays.
constexpr int kLongestChain = 64;

// A buffer that is read from the pool: `offset` behind where the launch's part of it begins.
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
  int64_t region = 0;  // bytes that all launches of a round read
  int64_t position = 0;
};

class TimedKernel : public CompiledKernel {
 public:
  TimedKernel(const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
              const TimingContext& context)
      : spec_(spec), operands_(AllOperands(spec)), kernel_(std::move(kernel)), context_(context) {}

  absl::Status Build() {
    bindings_.operands.resize(operands_.size(), 0);
    bindings_.constants.resize(kernel_->program().constants.size(), 0);
    QUOTIENT_RETURN_IF_ERROR(AddOutputs());
    QUOTIENT_RETURN_IF_ERROR(AddOperands());
    QUOTIENT_RETURN_IF_ERROR(AddConstants());
    QUOTIENT_ASSIGN_OR_RETURN(bindings_.workspace, Allocate(kernel_->workspace_bytes()));
    constexpr int64_t kOperandCaches = 4;
    constants_.region = std::max(constants_.step, int64_t{1} << spec_.constant_footprint_log2);
    activations_.region =
        std::max(activations_.step, kOperandCaches * context_.gpu->facts().l2_bytes);
    for (Rotation* rotation : {&constants_, &activations_}) {
      for (const Rotating& buffer : rotation->buffers) {
        QUOTIENT_ASSIGN_OR_RETURN(
            pools_[buffer.type],
            context_.pool->Get(buffer.type, std::max(constants_.region, activations_.region)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(int times) override {
    const int chain = std::min(times, kLongestChain);
    QUOTIENT_ASSIGN_OR_RETURN(Replay* const replay, ReplayOf(chain));
    const int rounds = (times + chain - 1) / chain;
    DeviceReading total;
    for (int round = 0; round < rounds; ++round) {
      QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, replay->Run());
      const DeviceReading judged = context_.clock->Judge(reading);
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
  absl::StatusOr<DeviceAddress> Allocate(int64_t bytes) {
    if (bytes == 0) return DeviceAddress{0};
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer, context_.gpu->Allocate(bytes));
    owned_.push_back(std::move(buffer));
    return owned_.back()->address();
  }

  absl::StatusOr<DeviceAddress> Filled(std::span<const std::byte> bytes) {
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address,
                              Allocate(static_cast<int64_t>(bytes.size())));
    if (!bytes.empty()) {
      QUOTIENT_RETURN_IF_ERROR(
          context_.gpu->Upload(address, bytes.data(), static_cast<int64_t>(bytes.size())));
    }
    return address;
  }

  absl::Status AddOutputs() {
    for (const Operand& output : spec_.outputs) {
      const std::vector<std::byte> poison(static_cast<size_t>(BytesOf(output)), std::byte{0xff});
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, Filled(poison));
      bindings_.outputs.push_back(address);
    }
    return absl::OkStatus();
  }

  // Activations: warm where what made them would still be in the cache.
  absl::Status AddOperands() {
    Rng rng(1);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const int64_t bytes = BytesOf(operands_[i]);
      if (operands_[i].constant || bytes == 0) continue;
      if (StoredAsFloat(operands_[i].type.dtype) && bytes > context_.gpu->facts().l2_bytes / 2) {
        Rotate(activations_, &PreparedKernel::Bindings::operands, i, operands_[i].type.dtype,
               bytes);
        continue;
      }
      const model::Tensor tensor = RandomOperand(spec_, i, rng);
      QUOTIENT_ASSIGN_OR_RETURN(bindings_.operands[i], Filled(tensor.bytes()));
    }
    return absl::OkStatus();
  }

  // Constants that are floats are any stretch of the pool, in whatever form they are packed.
  absl::Status AddConstants() {
    Rng rng(2);
    const std::vector<PackedConstant>& constants = kernel_->program().constants;
    for (size_t i = 0; i < constants.size(); ++i) {
      const int64_t bytes = BytesOf(constants[i], operands_);
      if (StoredAsFloat(constants[i].type)) {
        Rotate(constants_, &PreparedKernel::Bindings::constants, i, constants[i].type, bytes);
        continue;
      }
      const model::Tensor tensor =
          RandomOperand(spec_, static_cast<size_t>(constants[i].operand), rng);
      QUOTIENT_ASSIGN_OR_RETURN(bindings_.constants[i], Filled(tensor.bytes()));
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

  // Captured at its first use, and run once so that nothing of that is timed.
  absl::StatusOr<Replay*> ReplayOf(int chain) {
    std::unique_ptr<Replay>& replay = replays_[chain];
    if (replay != nullptr) return replay.get();
    std::vector<Step> steps;
    for (int i = 0; i < chain; ++i) {
      Advance(constants_);
      Advance(activations_);
      kernel_->AppendSteps(bindings_, &steps);
    }
    QUOTIENT_ASSIGN_OR_RETURN(replay, context_.gpu->Capture(steps));
    QUOTIENT_RETURN_IF_ERROR(replay->Run().status());
    return replay.get();
  }

  const KernelSpec spec_;
  const std::vector<Operand> operands_;
  const std::shared_ptr<const PreparedKernel> kernel_;
  const TimingContext context_;
  std::vector<std::unique_ptr<Buffer>> owned_;
  std::map<model::DType, std::shared_ptr<const Buffer>> pools_;
  PreparedKernel::Bindings bindings_;
  Rotation constants_;
  Rotation activations_;
  std::map<int, std::unique_ptr<Replay>> replays_;  // by the length of the chain
  std::optional<DeviceReading> reading_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledKernel>> NewTimedKernel(
    const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
    const TimingContext& context) {
  auto timed = std::make_unique<TimedKernel>(spec, std::move(kernel), context);
  QUOTIENT_RETURN_IF_ERROR(timed->Build());
  return timed;
}

}  // namespace quotient::kernels::cuda
