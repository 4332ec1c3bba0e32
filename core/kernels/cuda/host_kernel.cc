#include "core/kernels/cuda/host_kernel.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cuda {
namespace {

// The CPU's reference kernel, with conversion from and to native storage.
class Evaluation {
 public:
  Evaluation(KernelSpec spec, std::unique_ptr<cpu::Kernel> kernel)
      : spec_(std::move(spec)), operands_(AllOperands(spec_)), kernel_(std::move(kernel)) {}

  absl::Status Run(std::span<const void* const> inputs, std::span<void* const> outputs) const {
    std::vector<std::vector<std::byte>> wide;
    std::vector<const void*> operands;
    size_t next = 0;
    for (const Operand& operand : operands_) {
      if (BytesOf(operand) == 0) {
        operands.push_back(nullptr);
        continue;
      }
      const auto* bytes = static_cast<const std::byte*>(inputs[next++]);
      const model::Tensor tensor = Unpack(operand, {bytes, static_cast<size_t>(BytesOf(operand))});
      wide.emplace_back(static_cast<size_t>(StorageBytes(operand.type)));
      cpu::PackTensor(tensor, operand.layout, wide.back().data());
      operands.push_back(wide.back().data());
    }
    std::vector<void*> results;
    for (const Operand& output : spec_.outputs) {
      const bool there = BytesOf(output) > 0;
      if (there) wide.emplace_back(static_cast<size_t>(StorageBytes(output.type)));
      results.push_back(there ? wide.back().data() : nullptr);
    }
    const absl::Status status = kernel_->Run({operands, {}, results, nullptr}, nullptr);
    if (!status.ok()) return status;
    next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr) continue;
      const std::vector<std::byte> packed =
          Pack(cpu::UnpackTensor(spec_.outputs[i], results[i]), spec_.outputs[i].layout);
      std::memcpy(outputs[next++], packed.data(), packed.size());
    }
    return absl::OkStatus();
  }

 private:
  const KernelSpec spec_;
  const std::vector<Operand> operands_;
  const std::unique_ptr<cpu::Kernel> kernel_;
};

}  // namespace

absl::StatusOr<HostEvaluation> MakeHostEvaluation(const KernelSpec& spec) {
  KernelSpec plain = spec;  // Constants are passed like other operands.
  plain.storage = Storage::kWide;
  for (Operand& input : plain.inputs) input.constant = false;
  for (Epilogue& epilogue : plain.epilogue) {
    for (Operand& operand : epilogue.operands) operand.constant = false;
  }
  std::unique_ptr<cpu::Kernel> kernel = cpu::MakeReferenceKernel(plain);
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("no reference for ", KernelKey(spec)));
  }
  const auto evaluation = std::make_shared<const Evaluation>(std::move(plain), std::move(kernel));
  return [evaluation](std::span<const void* const> inputs,
                      std::span<void* const> outputs) -> absl::Status {
    // It may run on a thread of the driver, where nothing may be thrown.
    try {
      return evaluation->Run(inputs, outputs);
    } catch (const std::exception& exception) {
      return absl::InternalError(exception.what());
    }
  };
}

absl::StatusOr<HostCall> MakeHostCall(const KernelSpec& spec) {
  QUOTIENT_ASSIGN_OR_RETURN(const HostEvaluation evaluate, MakeHostEvaluation(spec));
  HostCall call;
  for (const Operand& operand : AllOperands(spec)) {
    if (BytesOf(operand) > 0) call.input_bytes.push_back(BytesOf(operand));
  }
  for (const Operand& output : spec.outputs) {
    if (BytesOf(output) > 0) call.output_bytes.push_back(BytesOf(output));
  }
  call.run = [evaluate, op = spec.op](std::span<const void* const> inputs,
                                      std::span<void* const> outputs) {
    const absl::Status status = evaluate(inputs, outputs);
    if (!status.ok()) Log().error("{} on the host: {}", op, std::string(status.message()));
  };
  return call;
}

}  // namespace quotient::kernels::cuda
