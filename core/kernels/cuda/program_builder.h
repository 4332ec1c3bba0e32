#pragma once

// Puts a Program together: buffers by operand, constants each once, and whole programs of other
// kernels as parts.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/cuda/program.h"

namespace quotient::kernels::cuda {

class ProgramBuilder {
 public:
  // Borrows the spec.
  ProgramBuilder(const KernelSpec& spec, std::string name);

  // Operand `index` of AllOperands as it lies: in the layout of the spec, constant or not.
  BufferRef Operand(int index);
  BufferRef Output(int index) const { return {BufferRef::Kind::kOutput, index}; }
  BufferRef Constant(PackedConstant constant);
  BufferRef Temporary(int64_t bytes);

  void Add(Launch launch) { program_.launches.push_back(std::move(launch)); }
  // The launches of `part`, a program of another spec. Which operand of this spec (or, where
  // `inputs` has a buffer, which buffer) each operand of that one is; its outputs are `outputs`.
  struct PartOperand {
    int index = -1;    // of AllOperands of this spec; -1: not an operand of it
    BufferRef buffer;  // where index is -1
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
