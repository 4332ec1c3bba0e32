#include "core/kernels/cuda/program/program_builder.h"

#include <algorithm>

#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {

using Kind = BufferRef::Kind;

ProgramBuilder::ProgramBuilder(const KernelSpec& spec, std::string name)
    : operands_(AllOperands(spec)) {
  program_.name = std::move(name);
}

BufferRef ProgramBuilder::Operand(int index) {
  const kernels::Operand& operand = operands_[index];
  if (!operand.constant) return {Kind::kOperand, index};
  return Constant({.operand = index,
                   .permutation = PhysicalAxes(operand.type.rank(), operand.layout),
                   .type = operand.type.dtype});
}

BufferRef ProgramBuilder::Constant(PackedConstant constant) {
  std::vector<PackedConstant>& all = program_.constants;
  const auto found = std::find(all.begin(), all.end(), constant);
  const int index = static_cast<int>(found - all.begin());
  if (found == all.end()) all.push_back(std::move(constant));
  return {Kind::kConstant, index};
}

BufferRef ProgramBuilder::Temporary(int64_t bytes) {
  program_.temporaries.push_back(bytes);
  return {Kind::kTemporary, static_cast<int>(program_.temporaries.size()) - 1};
}

void ProgramBuilder::AddPart(const Program& part, std::span<const PartOperand> inputs,
                             std::span<const BufferRef> outputs) {
  const int first_temporary = static_cast<int>(program_.temporaries.size());
  for (const int64_t bytes : part.temporaries) program_.temporaries.push_back(bytes);
  const auto translate = [&](const BufferRef& ref) -> BufferRef {
    switch (ref.kind) {
      case Kind::kOperand: {
        const PartOperand& input = inputs[ref.index];
        return input.index >= 0 ? Operand(input.index) : input.buffer;
      }
      case Kind::kConstant: {
        PackedConstant constant = part.constants[ref.index];
        if (constant.form != PackedConstant::Form::kFilled) {
          constant.operand = inputs[constant.operand].index;
        }
        return Constant(std::move(constant));
      }
      case Kind::kOutput:
        return outputs[ref.index];
      case Kind::kTemporary:
        return {Kind::kTemporary, first_temporary + ref.index};
    }
    return ref;
  };
  for (Launch launch : part.launches) {
    for (BufferRef& ref : launch.buffers) ref = translate(ref);
    Add(std::move(launch));
  }
}

}  // namespace quotient::kernels::cuda
