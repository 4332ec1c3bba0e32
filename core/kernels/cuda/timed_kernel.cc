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

// Maximum number of launches in one capture. More runs need several replays.
constexpr int kLongestChain = 64;
// Maximum number of captures that are used in turn.
constexpr int kMostCaptures = 16;
// Reading this many times the size of the L2 evicts everything else from it.
constexpr int64_t kCaches = 4;

// What all ways to run a kernel share: operands that do not rotate, outputs, and workspace.
struct SharedData {
  explicit SharedData(const TimingParts& parts)
      : parts(parts), gpu(*parts.gpu), memory(parts.gpu) {}

  const TimingParts parts;
  Gpu& gpu;
  DeviceMemory memory;
  PreparedKernel::Bindings bindings;  // All but constants and operands that rotate.
};

bool Rotates(const Operand& operand, const Gpu& gpu) {
  return StoredAsFloat(operand.type.dtype) && BytesOf(operand) > gpu.facts().l2_bytes / 2;
}

absl::StatusOr<std::shared_ptr<const SharedData>> MakeSharedData(const KernelSpec& spec,
                                                                 int64_t workspace_bytes,
                                                                 const TimingParts& parts) {
  auto data = std::make_shared<SharedData>(parts);
  for (const Operand& output : spec.outputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, data->memory.Allocate(BytesOf(output)));
    data->bindings.outputs.push_back(address);
  }
  Rng rng(1);
  const std::vector<Operand> operands = AllOperands(spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    DeviceAddress& address = data->bindings.operands.emplace_back(0);
    if (operands[i].constant || BytesOf(operands[i]) == 0 || Rotates(operands[i], data->gpu))
      continue;
    QUOTIENT_ASSIGN_OR_RETURN(address, data->memory.Upload(RandomOperand(spec, i, rng).bytes()));
  }
  QUOTIENT_ASSIGN_OR_RETURN(data->bindings.workspace, data->memory.Allocate(workspace_bytes));
  return data;
}

// A buffer that is read from the pool, `offset` bytes after the start of a launch's part.
struct Rotating {
  std::vector<DeviceAddress> PreparedKernel::Bindings::*list;
  size_t index;
  model::DType type;
  int64_t offset;
};

// Buffers that rotate together over a region of the pool, with one position per launch.
struct Rotation {
  std::vector<Rotating> buffers;
  int64_t step = 0;    // Bytes that one launch reads.
  int64_t begin = 0;   // Where its region begins in the pool.
  int64_t region = 0;  // Bytes of the pool that it may use.
  int64_t cycle = 1;   // Launches until nothing of the first is in the L2.

  int64_t positions() const { return step > 0 ? std::max<int64_t>(region / step, 1) : 1; }
};

// How a number of launches, which are repeated, goes round the positions of a rotation.
struct Circuit {
  int64_t positions = 1;  // That it uses.
  int64_t between = 0;    // The fewest launches from one to the next that reads the same data.
};

// The circuit with which most launches lie between two that read the same data. If the last round
// is incomplete these are only its own launches, because the first positions follow it.
Circuit CircuitOf(const Rotation& rotation, int64_t launches) {
  Circuit best;
  for (int64_t positions = std::min(launches, rotation.positions()); positions > best.between;
       --positions) {
    const int64_t left = launches % positions;
    const int64_t between = left == 0 ? positions : left;
    if (between > best.between) best = {positions, between};
  }
  return best;
}

// How cold the launches find what rotates: 1 if enough launches lie between two that read the same
// data to fill the L2, else the fraction of them.
double Coldness(const Rotation& rotation, int64_t launches) {
  if (rotation.step == 0) return 1;
  const int64_t between = CircuitOf(rotation, launches).between;
  return std::min(1.0, static_cast<double>(between) / static_cast<double>(rotation.cycle));
}

// How a number of launches is captured.
struct Round {
  int captures = 1;  // Used in turn.
  int launches = 1;  // Per capture.
};

// Chooses as many captures as are needed until what the first one read is cold again. Of up to
// `longest` launches per capture it chooses the most with which all rotations are coldest, even
// from the last capture to the first.
Round RoundOf(int longest, const Rotation& a, const Rotation& b) {
  const int64_t wanted = (std::max(a.cycle, b.cycle) + longest - 1) / longest;
  const int captures = static_cast<int>(std::min<int64_t>(wanted, kMostCaptures));
  Round best;
  double coldest = 0;
  for (int launches = longest; launches > 0 && coldest < 1; --launches) {
    const int64_t all = int64_t{captures} * launches;
    const double cold = std::min(Coldness(a, all), Coldness(b, all));
    if (cold <= coldest) continue;
    coldest = cold;
    best = {captures, launches};
  }
  return best;
}

class TimedKernel : public CompiledKernel {
 public:
  TimedKernel(const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
              std::shared_ptr<const SharedData> data)
      : spec_(spec),
        operands_(AllOperands(spec)),
        kernel_(std::move(kernel)),
        data_(std::move(data)),
        journal_name_(JournalName(KernelKey(spec), kernel_->name())),
        memory_(&data_->gpu),
        bindings_(data_->bindings),
        clock_(data_->parts.clock) {}

  absl::Status Build() {
    bindings_.constants.resize(kernel_->program().constants.size(), 0);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].constant || !Rotates(operands_[i], data_->gpu)) continue;
      Rotate(activations_, &PreparedKernel::Bindings::operands, i, operands_[i].type.dtype,
             BytesOf(operands_[i]));
    }
    QUOTIENT_RETURN_IF_ERROR(AddConstants());
    const int64_t cold = kCaches * data_->gpu.facts().l2_bytes;
    if (constants_.step > 0) {
      constants_.region = std::max(constants_.step, int64_t{1} << spec_.constant_footprint_log2);
    }
    if (activations_.step > 0) {
      activations_.begin = constants_.region;
      activations_.region = std::max(activations_.step, cold);
    }
    for (Rotation* rotation : {&constants_, &activations_}) {
      if (rotation->step == 0) continue;
      for (const Rotating& buffer : rotation->buffers) {
        QUOTIENT_ASSIGN_OR_RETURN(
            pools_[buffer.type],
            data_->parts.pool->Get(buffer.type, constants_.region + activations_.region));
      }
      rotation->cycle = std::max<int64_t>(std::min(rotation->region, cold) / rotation->step, 1);
    }
    return absl::OkStatus();
  }

  absl::Status Run(int times) override {
    const Round round = RoundFor(std::min(times, kLongestChain));
    QUOTIENT_ASSIGN_OR_RETURN(Captures* const captures, CapturesOf(round));
    const int replays = (times + round.launches - 1) / round.launches;
    DeviceReading total;
    for (int i = 0; i < replays; ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, captures->replays[captures->next]->Run());
      captures->next = (captures->next + 1) % captures->replays.size();
      const DeviceReading judged = clock_.Judge(reading);
      total.us += judged.us;
      total.clean = total.clean && judged.clean;
    }
    total.us *= static_cast<double>(times) / (static_cast<double>(round.launches) * replays);
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

  // A constant of floats can be any part of the pool, whatever form it is packed in.
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

  // Binds what rotates for launch number `launch` of `launches` that are captured together.
  void Bind(const Rotation& rotation, int64_t launch, int64_t launches) {
    const int64_t position = launch % CircuitOf(rotation, launches).positions;
    for (const Rotating& buffer : rotation.buffers) {
      (bindings_.*buffer.list)[buffer.index] =
          pools_.at(buffer.type)->address() +
          static_cast<DeviceAddress>(rotation.begin + position * rotation.step + buffer.offset);
    }
  }

  const Round& RoundFor(int longest) {
    const auto [found, fresh] = rounds_.try_emplace(longest);
    if (fresh) found->second = RoundOf(longest, constants_, activations_);
    return found->second;
  }

  // All captures of a round, made when first requested.
  absl::StatusOr<Captures*> CapturesOf(const Round& round) {
    Captures& captures = captures_[{round.captures, round.launches}];
    if (!captures.replays.empty()) return &captures;
    std::vector<std::unique_ptr<Replay>> replays;
    for (int i = 0; i < round.captures; ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(replays.emplace_back(), Capture(i, round));
    }
    // The first replay of each capture loads its kernels. All are replayed before any is timed,
    // because a replay timed right after its own first one would find its constants in the L2.
    for (const std::unique_ptr<Replay>& replay : replays) {
      QUOTIENT_RETURN_IF_ERROR(RunByJournal(data_->parts.journal, data_->gpu, {journal_name_}, [&] {
                                 return replay->Run();
                               }).status());
    }
    captures.replays = std::move(replays);
    return &captures;
  }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(int index, const Round& round) {
    std::vector<Step> steps;
    const int64_t all = int64_t{round.captures} * round.launches;
    for (int i = 0; i < round.launches; ++i) {
      const int64_t launch = int64_t{index} * round.launches + i;
      Bind(constants_, launch, all);
      Bind(activations_, launch, all);
      kernel_->AppendSteps(bindings_, &steps);
    }
    return data_->gpu.Capture(steps);
  }

  const KernelSpec spec_;
  const std::vector<Operand> operands_;
  const std::shared_ptr<const PreparedKernel> kernel_;
  const std::shared_ptr<const SharedData> data_;
  const std::string journal_name_;
  DeviceMemory memory_;
  std::map<model::DType, std::shared_ptr<const Buffer>> pools_;
  PreparedKernel::Bindings bindings_;
  Rotation constants_;
  Rotation activations_;
  ClockWatch clock_;
  std::map<int, Round> rounds_;  // By the maximum number of launches in a capture.
  // By number of captures and launches. Destroyed before what they launch.
  std::map<std::pair<int, int>, Captures> captures_;
  std::optional<DeviceReading> reading_;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> NewTimedKernels(
    const KernelSpec& spec, const std::vector<std::shared_ptr<const PreparedKernel>>& kernels,
    const TimingParts& parts) {
  int64_t workspace_bytes = 0;
  for (const auto& kernel : kernels) {
    workspace_bytes = std::max(workspace_bytes, kernel->workspace_bytes());
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const SharedData> data,
                            MakeSharedData(spec, workspace_bytes, parts));
  std::vector<std::unique_ptr<CompiledKernel>> timed;
  for (const auto& kernel : kernels) {
    auto one = std::make_unique<TimedKernel>(spec, kernel, data);
    QUOTIENT_RETURN_IF_ERROR(one->Build());
    timed.push_back(std::move(one));
  }
  return timed;
}

}  // namespace quotient::kernels::cuda
