#include "core/kernels/cuda/lower.h"

#include <optional>
#include <utility>

#include "core/kernels/attention.h"
#include "core/kernels/cuda/program/program_builder.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/ops/op.h"

namespace quotient::kernels::cuda {
namespace {

bool IsThere(const Operand& operand) { return operand.type.dtype != model::DType::kUndefined; }

}  // namespace

std::optional<Program> LowerToHost(const KernelSpec& spec) {
  if (spec.op == kAttentionOp) return LowerAttentionToHost(spec);
  if (ops::FindOp(spec.op) == nullptr) return std::nullopt;
  ProgramBuilder program(spec, "host");
  Launch launch{HostKernel{spec}, {}};
  const std::vector<Operand>& operands = program.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!IsThere(operands[i])) continue;
    if (!model::IsComputable(operands[i].type.dtype)) return std::nullopt;
    launch.buffers.push_back(program.Operand(static_cast<int>(i)));
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (IsThere(spec.outputs[i])) launch.buffers.push_back(program.Output(static_cast<int>(i)));
  }
  program.Add(std::move(launch));
  return std::move(program).Finish();
}

std::vector<Program> Lower(const KernelSpec& spec, MathPolicy policy) {
  std::vector<Program> programs;
  if (std::optional<Program> ours = MakeSourceProgram(spec)) programs.push_back(*std::move(ours));
  for (const auto lower : {LowerConvolution, LowerProduct, LowerAttention, LowerPool,
                           LowerNormalization, LowerReduction, LowerElementwise}) {
    for (Program& program : lower(spec, policy)) programs.push_back(std::move(program));
  }
  if (!programs.empty()) return programs;
  if (std::optional<Program> host = LowerToHost(spec)) programs.push_back(*std::move(host));
  return programs;
}

bool IsOfOneFloatType(const KernelSpec& spec) {
  const model::DType type = spec.outputs[0].type.dtype;
  if (type != model::DType::kFloat32 && type != model::DType::kFloat16 &&
      type != model::DType::kBfloat16) {
    return false;
  }
  for (const Operand& operand : AllOperands(spec)) {
    if (!IsThere(operand)) continue;
    if (operand.type.dtype != type || operand.type.elements() == 0) return false;
  }
  return spec.outputs[0].type.elements() > 0;
}

}  // namespace quotient::kernels::cuda
