#pragma once

// Builds a Program: finds buffers by operand, adds each constant once, and includes whole programs
// of other kernels.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/cuda/program/program.h"

namespace quotient::kernels::cuda {

class ProgramBuilder {
 public:
  // Borrows the spec.
  ProgramBuilder(const KernelSpec& spec, std::string name);

  // Operand `index` of AllOperands as it is stored: in the layout of the spec, constant or not.
  BufferRef Operand(int index);
  BufferRef Output(int index) const { return {BufferRef::Kind::kOutput, index}; }
  BufferRef Constant(PackedConstant constant);
  BufferRef Temporary(int64_t bytes);

  void Add(Launch launch) { program_.launches.push_back(std::move(launch)); }
  // Adds the launches of `part`, a program of another spec. Each of `inputs` says which operand of
  // this spec, or which buffer, is that operand of the part. The part's outputs become `outputs`.
  struct PartOperand {
    int index = -1;    // Index in AllOperands of this spec, or -1.
    BufferRef buffer;  // If index is -1.
  };
  void AddPart(const Program& part, std::span<const PartOperand> inputs,
               std::span<const BufferRef> outputs);

  const std::vector<kernels::Operand>& operands() const { return operands_; }
  Program Finish() && { return std::move(program_); }

 private:
  const std::vector<kernels::Operand> operands_;
  Program program_;
};

}  // namespace quotient::kernels::cuda
