#include "tests/core/kernels/cuda/way_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/attention.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/host_gpu.h"
#include "tests/support/cuda/program_runner.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::Tensor;

// cuBLASLt and cuDNN both where they may multiply float32: their exact plan does so all the same.
constexpr MathPolicy kPolicy = MathPolicy::kTf32;

template <typename Map>
Tensor Mapped(const Tensor& tensor, const Map& map) {
  std::vector<double> numbers = tensor.AsDoubles();
  std::transform(numbers.begin(), numbers.end(), numbers.begin(), map);
  std::span<std::byte> bytes;
  Tensor result = Tensor::Allocate(tensor.dtype(), tensor.dims(), &bytes);
  model::Store(tensor.dtype(), bytes, 0, std::span<const double>(numbers));
  return result;
}

// Random ones such that contractions stay near 1 and divisors away from 0.
std::vector<Tensor> OperandsOf(const KernelSpec& spec, uint64_t seed) {
  std::vector<Tensor> operands = RandomOperands(spec, seed);
  if (IsContraction(spec.op)) operands[1] = Mapped(operands[1], [](double x) { return x / 8; });
  size_t next = spec.inputs.size();
  for (const Epilogue& epilogue : spec.epilogue) {
    if (epilogue.op == "Div") {
      operands[next] = Mapped(operands[next], [](double x) { return x < 0 ? x - 0.5 : x + 0.5; });
    }
    next += epilogue.operands.size();
  }
  return operands;
}

double LowestOf(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat16:
      return -65504;
    case model::DType::kBfloat16:
      return -0x1.fep127;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

// A mask that hides, as those of models do, half of the keys from each row, not the same from the
// next: at least one is left.
Tensor Hiding(const Tensor& mask, double hidden) {
  const int64_t keys = mask.dims().empty() ? 1 : mask.dims().back();
  int64_t i = 0;
  return Mapped(mask, [&](double number) {
    const int64_t row = i / keys, key = i % keys;
    ++i;
    return (row + key) % keys < keys / 2 ? hidden : number;
  });
}

// What a spec is to be tried on. An attention's mask once adds a little, and once hides keys by
// each of the numbers that models have for it.
std::vector<std::vector<Tensor>> OperandSetsOf(const KernelSpec& spec, uint64_t seed) {
  std::vector<std::vector<Tensor>> sets = {OperandsOf(spec, seed)};
  constexpr size_t kMask = 3;
  if (spec.op != kAttentionOp || spec.inputs.size() <= kMask) return sets;
  for (const double hidden :
       {-std::numeric_limits<double>::infinity(), LowestOf(spec.inputs[kMask].type.dtype)}) {
    sets.push_back(sets.front());
    sets.back()[kMask] = Hiding(sets.front()[kMask], hidden);
  }
  return sets;
}

using Kernels = std::vector<std::shared_ptr<const PreparedKernel>>;

// Those of all ways that the libraries have after all.
absl::StatusOr<Kernels> KernelsOf(const KernelSpec& spec, MathPolicy policy, Gpu& gpu) {
  QUOTIENT_ASSIGN_OR_RETURN(const Ways ways, WaysToRun(spec, policy, gpu, 1));
  QUOTIENT_RETURN_IF_ERROR(ways.failure);
  Kernels kernels;
  for (const Way& way : ways.list) {
    EXPECT_NE(way.program.name, "host");
    auto kernel = PreparedKernel::Create(way, gpu);
    if (absl::IsUnimplemented(kernel.status())) continue;
    QUOTIENT_RETURN_IF_ERROR(kernel.status());
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

// One program of a spec with memory of its own.
class Run {
 public:
  Run(const KernelSpec& spec, std::shared_ptr<const PreparedKernel> kernel,
      std::vector<Tensor> expected, Gpu* gpu)
      : spec_(spec), kernel_(std::move(kernel)), expected_(std::move(expected)), gpu_(*gpu) {}

  absl::Status Bind(const std::vector<Tensor>& operands) {
    const std::vector<Operand> all = AllOperands(spec_);
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < all.size(); ++i) {
      pointers.push_back(&operands[i]);
      const bool computed = !all[i].constant && all[i].type.dtype != model::DType::kUndefined;
      QUOTIENT_ASSIGN_OR_RETURN(
          const DeviceAddress address,
          Place(computed ? Pack(operands[i], all[i].layout) : std::vector<std::byte>()));
      bindings_.operands.push_back(address);
    }
    for (const PackedConstant& constant : kernel_->program().constants) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, Place(Pack(constant, pointers)));
      bindings_.constants.push_back(address);
    }
    for (const Operand& output : spec_.outputs) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, Place(Poison(BytesOf(output))));
      bindings_.outputs.push_back(address);
    }
    QUOTIENT_ASSIGN_OR_RETURN(bindings_.workspace, Place(Poison(kernel_->workspace_bytes())));
    return absl::OkStatus();
  }

  void AppendSteps(std::vector<Step>* steps) const { kernel_->AppendSteps(bindings_, steps); }

  void ExpectOutputs() const {
    size_t next = 0;
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      const int64_t size = BytesOf(spec_.outputs[i]);
      if (size == 0) continue;
      std::vector<std::byte> bytes(static_cast<size_t>(size) + kGuardBytes);
      ASSERT_OK(
          gpu_.Download(bytes.data(), bindings_.outputs[i], static_cast<int64_t>(bytes.size())));
      EXPECT_TRUE(std::all_of(bytes.begin() + size, bytes.end(),
                              [](std::byte byte) { return byte == kPoison; }))
          << "output " << i << ": written behind its end";
      const std::span<const std::byte> content(bytes.data(), static_cast<size_t>(size));
      ExpectClose(expected_[next++], Unpack(spec_.outputs[i], content), kernel_->name());
    }
  }

  std::string Describe() const { return kernel_->name() + " of " + KernelKey(spec_); }

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr std::byte kPoison{0xff};

  static std::vector<std::byte> Poison(int64_t bytes) {
    return std::vector<std::byte>(static_cast<size_t>(bytes), kPoison);
  }

  absl::StatusOr<DeviceAddress> Place(std::vector<std::byte> bytes) {
    bytes.resize(bytes.size() + kGuardBytes, kPoison);
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                              gpu_.Allocate(static_cast<int64_t>(bytes.size())));
    QUOTIENT_RETURN_IF_ERROR(
        gpu_.Upload(buffer->address(), bytes.data(), static_cast<int64_t>(bytes.size())));
    memory_.push_back(std::move(buffer));
    return memory_.back()->address();
  }

  const KernelSpec spec_;
  const std::shared_ptr<const PreparedKernel> kernel_;
  const std::vector<Tensor> expected_;
  Gpu& gpu_;
  std::vector<std::unique_ptr<Buffer>> memory_;
  PreparedKernel::Bindings bindings_;
};

// Runs that follow one another.
class Sequence {
 public:
  explicit Sequence(Gpu& gpu) : gpu_(gpu) {}

  // Each of the spec's kernels on those operands.
  void Add(const KernelSpec& spec, const Kernels& kernels, const std::vector<Tensor>& operands) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, ReferenceOutputs(spec, operands));
    for (const auto& kernel : kernels) {
      runs_.push_back(std::make_unique<Run>(spec, kernel, expected, &gpu_));
      ASSERT_OK(runs_.back()->Bind(operands));
      runs_.back()->AppendSteps(&steps_);
    }
  }

  void ExpectOutputs() const {
    ASSERT_OK_AND_ASSIGN(const auto replay, gpu_.Capture(steps_));
    ASSERT_OK(replay->Run().status());
    for (const auto& run : runs_) {
      SCOPED_TRACE(run->Describe());
      run->ExpectOutputs();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  Gpu& gpu_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<KernelSpec> NativeSpecsOf(const std::string& body) {
  const auto groups = PartitionGraph(GraphOf({"specs", body}),
                                     {.storage = Storage::kNative, .fuses_attention = true});
  EXPECT_OK(groups.status());
  std::vector<KernelSpec> specs;
  if (!groups.ok()) return specs;
  for (const KernelGroup& group : *groups) {
    if (!group.spec.free && group.spec.op != kReorderOp) specs.push_back(group.spec);
  }
  return specs;
}

std::vector<std::string> ProgramNames(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Program& program : Lower(spec, kPolicy)) names.push_back(program.name);
  return names;
}

void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs) {
  ExpectEveryWayAgrees(specs, kPolicy, *NewHostGpu());
}

void ExpectEveryWayAgrees(const std::vector<KernelSpec>& specs, MathPolicy policy, Gpu& gpu) {
  Sequence sequence(gpu);
  for (size_t i = 0; i < specs.size(); ++i) {
    SCOPED_TRACE(KernelKey(specs[i]));
    ASSERT_OK_AND_ASSIGN(const Kernels kernels, KernelsOf(specs[i], policy, gpu));
    ASSERT_FALSE(kernels.empty());
    for (const std::vector<Tensor>& operands : OperandSetsOf(specs[i], i)) {
      sequence.Add(specs[i], kernels, operands);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  sequence.ExpectOutputs();
}

void ExpectProgramAgrees(const KernelSpec& spec, absl::string_view name,
                         const std::vector<Tensor>& operands) {
  const std::unique_ptr<Gpu> gpu = NewHostGpu();
  ASSERT_OK_AND_ASSIGN(Kernels kernels, KernelsOf(spec, kPolicy, *gpu));
  std::erase_if(kernels, [&](const auto& kernel) { return kernel->program().name != name; });
  ASSERT_FALSE(kernels.empty());
  Sequence sequence(*gpu);
  sequence.Add(spec, kernels, operands);
  sequence.ExpectOutputs();
}

}  // namespace quotient::kernels::cuda
