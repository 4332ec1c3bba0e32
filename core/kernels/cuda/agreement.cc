#include "core/kernels/cuda/agreement.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/device_memory.h"
#include "core/kernels/cuda/host_kernel.h"
#include "core/kernels/cuda/kernel_library.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/random_operand.h"

namespace quotient::kernels::cuda {
namespace {

constexpr int64_t kMostElements = 1 << 22;

using Outputs = std::vector<std::vector<double>>;

bool IsSmall(const KernelSpec& spec, const std::vector<Operand>& operands) {
  int64_t elements = 0;
  for (const std::vector<Operand>* list : {&operands, &spec.outputs}) {
    for (const Operand& operand : *list) {
      if (BytesOf(operand) > 0) elements += operand.type.elements();
    }
  }
  return elements <= kMostElements;
}

// The largest difference accepted, relative to the norm. Rounding stays far below, and wrong
// results are above, even if only one tile of many is wrong.
double MostDifference(const KernelSpec& spec, const std::vector<Operand>& operands,
                      MathPolicy policy) {
  const auto is_narrow = [](const Operand& operand) {
    return model::DTypeBits(operand.type.dtype) < 32 && StoredAsFloat(operand.type.dtype);
  };
  if (std::ranges::any_of(operands, is_narrow) || std::ranges::any_of(spec.outputs, is_narrow)) {
    return 0.05;
  }
  return policy == MathPolicy::kStrict32 ? 1e-3 : 1e-2;
}

bool Agree(const Outputs& a, const Outputs& b, double most) {
  for (size_t i = 0; i < a.size(); ++i) {
    double norm = 0, difference = 0;
    for (size_t k = 0; k < a[i].size(); ++k) {
      if (a[i][k] == b[i][k] || (std::isnan(a[i][k]) && std::isnan(b[i][k]))) {
        if (std::isfinite(a[i][k])) norm += a[i][k] * a[i][k];
        continue;
      }
      norm += a[i][k] * a[i][k];
      difference += (a[i][k] - b[i][k]) * (a[i][k] - b[i][k]);
    }
    // Fails if the norm is NaN, too.
    if (difference > 0 && !(std::sqrt(difference) <= most * std::sqrt(norm))) return false;
    if (std::isnan(difference)) return false;
  }
  return true;
}

class Comparison {
 public:
  Comparison(const KernelSpec& spec, MathPolicy policy, Gpu* gpu, RunJournal* journal)
      : spec_(spec),
        operands_(AllOperands(spec)),
        most_(MostDifference(spec, operands_, policy)),
        gpu_(*gpu),
        journal_(journal),
        memory_(gpu) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!overwritten_.has_value() && BytesOf(operands_[i]) > 0 && MayOverwrite(spec, i)) {
        overwritten_ = i;
      }
    }
  }

  bool IsWorthIt(size_t ways) const {
    return IsSmall(spec_, operands_) && (ways > 1 || overwritten_.has_value());
  }

  absl::Status MakeData(int64_t workspace_bytes) {
    Rng rng(3);
    for (size_t i = 0; i < operands_.size(); ++i) {
      DeviceAddress& address = bindings_.operands.emplace_back(0);
      std::optional<model::Tensor>& tensor = tensors_.emplace_back();
      if (BytesOf(operands_[i]) == 0) continue;
      tensor = RandomOperand(spec_, i, rng);
      if (operands_[i].constant) continue;
      QUOTIENT_ASSIGN_OR_RETURN(address, memory_.Upload(Pack(*tensor, operands_[i].layout)));
    }
    for (const Operand& output : spec_.outputs) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, memory_.Allocate(BytesOf(output)));
      bindings_.outputs.push_back(address);
    }
    QUOTIENT_ASSIGN_OR_RETURN(bindings_.workspace, memory_.Allocate(workspace_bytes));
    return absl::OkStatus();
  }

  // Fails with INTERNAL for a kernel that computes something else when it writes over an operand.
  absl::StatusOr<Outputs> Run(const PreparedKernel& kernel) {
    QUOTIENT_ASSIGN_OR_RETURN(const Outputs outputs, RunOn(kernel, bindings_));
    if (!overwritten_.has_value()) return outputs;
    PreparedKernel::Bindings in_place = bindings_;
    in_place.outputs[0] = bindings_.operands[*overwritten_];
    const absl::StatusOr<Outputs> again = RunOn(kernel, in_place);
    const std::vector<std::byte> before =
        Pack(*tensors_[*overwritten_], operands_[*overwritten_].layout);
    QUOTIENT_RETURN_IF_ERROR(gpu_.Upload(bindings_.operands[*overwritten_], before.data(),
                                         static_cast<int64_t>(before.size())));
    QUOTIENT_RETURN_IF_ERROR(again.status());
    if (!AreSame(outputs, *again)) {
      return absl::InternalError(
          absl::StrCat("it computes something else where it writes over operand ", *overwritten_));
    }
    return outputs;
  }

  // What the reference evaluation on the host computes from the same operands. Fails if there is
  // none, or if it fails.
  absl::StatusOr<Outputs> Reference() const {
    QUOTIENT_ASSIGN_OR_RETURN(const HostEvaluation evaluate, MakeHostEvaluation(spec_));
    std::vector<std::vector<std::byte>> memory;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (tensors_[i].has_value()) memory.push_back(Pack(*tensors_[i], operands_[i].layout));
    }
    const std::vector<const void*> inputs = AddressesOf<const void*>(memory);
    std::vector<std::vector<std::byte>> results;
    for (const Operand& output : spec_.outputs) {
      if (BytesOf(output) > 0) results.emplace_back(static_cast<size_t>(BytesOf(output)));
    }
    QUOTIENT_RETURN_IF_ERROR(evaluate(inputs, AddressesOf<void*>(results)));
    Outputs outputs;
    size_t next = 0;
    for (const Operand& output : spec_.outputs) {
      if (BytesOf(output) > 0) outputs.push_back(Unpack(output, results[next++]).AsDoubles());
    }
    return outputs;
  }

  bool AreSame(const Outputs& a, const Outputs& b) const { return Agree(a, b, most_); }

 private:
  static constexpr std::byte kPoison{0xff};

  template <typename Address>
  static std::vector<Address> AddressesOf(std::vector<std::vector<std::byte>>& memory) {
    std::vector<Address> addresses;
    for (std::vector<std::byte>& bytes : memory) addresses.push_back(bytes.data());
    return addresses;
  }

  absl::StatusOr<Outputs> RunOn(const PreparedKernel& kernel, PreparedKernel::Bindings bindings) {
    DeviceMemory constants(&gpu_);
    std::vector<const model::Tensor*> tensors;
    for (const std::optional<model::Tensor>& tensor : tensors_) {
      tensors.push_back(tensor.has_value() ? &*tensor : nullptr);
    }
    for (const PackedConstant& constant : kernel.program().constants) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address,
                                constants.Upload(Pack(constant, tensors)));
      bindings.constants.push_back(address);
    }
    QUOTIENT_RETURN_IF_ERROR(PoisonOutputs());
    std::vector<Step> steps;
    kernel.AppendSteps(bindings, &steps);
    if (!steps.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<Replay> replay, gpu_.Capture(steps));
      const std::string name = JournalName(KernelKey(spec_), kernel.name());
      QUOTIENT_RETURN_IF_ERROR(
          RunByJournal(journal_, gpu_, {name}, [&] { return replay->Run(); }).status());
    }
    return ReadOutputs(bindings);
  }

  absl::Status PoisonOutputs() {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      const std::vector<std::byte> poison(static_cast<size_t>(BytesOf(spec_.outputs[i])), kPoison);
      if (poison.empty()) continue;
      QUOTIENT_RETURN_IF_ERROR(
          gpu_.Upload(bindings_.outputs[i], poison.data(), static_cast<int64_t>(poison.size())));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Outputs> ReadOutputs(const PreparedKernel::Bindings& bindings) {
    Outputs outputs;
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      std::vector<std::byte> bytes(static_cast<size_t>(BytesOf(spec_.outputs[i])));
      if (bytes.empty()) continue;
      QUOTIENT_RETURN_IF_ERROR(
          gpu_.Download(bytes.data(), bindings.outputs[i], static_cast<int64_t>(bytes.size())));
      outputs.push_back(Unpack(spec_.outputs[i], bytes).AsDoubles());
    }
    return outputs;
  }

  const KernelSpec& spec_;
  const std::vector<Operand> operands_;
  const double most_;  // See MostDifference.
  Gpu& gpu_;
  RunJournal* const journal_;
  DeviceMemory memory_;
  std::optional<size_t> overwritten_;  // The operand that graphs may let it overwrite.
  std::vector<std::optional<model::Tensor>> tensors_;
  PreparedKernel::Bindings bindings_;
};

// Runs the kernels. One that cannot run is removed from `kernels`, to which the result is parallel.
// Fails only if none of them runs or the GPU is lost.
absl::StatusOr<std::vector<Outputs>> OutputsOfThoseThatRun(
    const KernelSpec& spec, Comparison& comparison,
    std::vector<std::shared_ptr<const PreparedKernel>>* kernels) {
  std::vector<Outputs> outputs;
  std::vector<std::shared_ptr<const PreparedKernel>> kept;
  absl::Status failure;
  for (auto& kernel : *kernels) {
    absl::StatusOr<Outputs> computed = comparison.Run(*kernel);
    if (GetReason(computed.status()) == Reason::kDeviceLost) return computed.status();
    failure.Update(computed.status());
    if (computed.ok()) {
      outputs.push_back(*std::move(computed));
      kept.push_back(std::move(kernel));
    } else {
      Log().warn("{}{}: {} does not run: {}", kLibraryTrouble, KernelKey(spec), kernel->name(),
                 std::string(computed.status().message()));
    }
  }
  *kernels = std::move(kept);
  if (kernels->empty()) return failure;
  return outputs;
}

// The result that counts. A majority does not tell it, because several plans of a library may be
// wrong in the same way, so if results differ the reference decides, which may take long. Nothing
// agrees with it where kernels read a constant from the spec that is another one among the random
// operands, like the exponent of a Pow.
Outputs RightOutputs(const Comparison& comparison, const std::vector<Outputs>& outputs) {
  const auto agreeing = [&](const Outputs& result) {
    return std::ranges::count_if(
        outputs, [&](const Outputs& other) { return comparison.AreSame(result, other); });
  };
  if (static_cast<size_t>(agreeing(outputs.front())) == outputs.size()) return outputs.front();
  absl::StatusOr<Outputs> reference = comparison.Reference();
  if (reference.ok() && agreeing(*reference) > 0) return *std::move(reference);
  return *std::ranges::max_element(outputs, {}, agreeing);
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> ThoseThatAgree(
    const KernelSpec& spec, MathPolicy policy,
    std::vector<std::shared_ptr<const PreparedKernel>> kernels, Gpu* gpu, RunJournal* journal) {
  Comparison comparison(spec, policy, gpu, journal);
  if (!comparison.IsWorthIt(kernels.size())) return kernels;
  int64_t workspace_bytes = 0;
  for (const auto& kernel : kernels) {
    workspace_bytes = std::max(workspace_bytes, kernel->workspace_bytes());
  }
  QUOTIENT_RETURN_IF_ERROR(comparison.MakeData(workspace_bytes));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Outputs> outputs,
                            OutputsOfThoseThatRun(spec, comparison, &kernels));
  const Outputs right = RightOutputs(comparison, outputs);
  std::vector<std::shared_ptr<const PreparedKernel>> kept;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (comparison.AreSame(right, outputs[i])) {
      kept.push_back(std::move(kernels[i]));
    } else {
      Log().warn("{}: {} computes something else than it should", KernelKey(spec),
                 kernels[i]->name());
    }
  }
  return kept;
}

}  // namespace quotient::kernels::cuda
