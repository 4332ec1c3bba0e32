#pragma once

// What the oneDNN kernels share: memory descriptors, post-operations, and PrimitiveKernel, a short
// sequence of primitives with their arguments.

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::onednn {

// The CPU engine of the process.
const dnnl::engine& Engine();

// Descriptors of 32-bit floats.
dnnl::memory::desc Plain(const std::vector<int64_t>& dims);
dnnl::memory::desc Strided(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides);
dnnl::memory::desc AnyOrder(const std::vector<int64_t>& dims);
// The descriptor of an activation in its layout.
dnnl::memory::desc Activation(const Operand& operand);

// Calls `body` and turns exceptions of the library into a status.
absl::Status Guard(const std::function<absl::Status()>& body);

// Where an argument of a primitive comes from.
struct Argument {
  enum class Source { kOperand, kConstant, kOutput, kScratch };
  int name = 0;  // DNNL_ARG_...
  dnnl::memory::desc desc;
  Source source = Source::kOperand;
  int64_t index = 0;  // Number of the operand, constant or output; byte offset for kScratch.
};

struct Stage {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
};

// Built by one of the makers, immutable afterwards.
class PrimitiveKernel : public cpu::Kernel {
 public:
  explicit PrimitiveKernel(const KernelSpec& spec);

  absl::Status Pack(std::span<const model::Tensor* const> operands,
                    std::span<void* const> packed) const override;
  std::unique_ptr<cpu::KernelState> NewState() const override;
  absl::Status Run(const cpu::KernelBuffers& buffers, cpu::KernelState* state) const override;

  const KernelSpec& spec() const { return spec_; }
  const std::vector<Operand>& operands() const { return operands_; }

  // --- For the makers

  // An argument that reads operand `index`, which is stored as `given` and which the primitive
  // wants as `wanted`. Constants are packed in advance, other operands are reordered by a preceding
  // stage.
  Argument Read(int name, size_t index, const dnnl::memory::desc& given,
                const dnnl::memory::desc& wanted);
  // Adds a constant of `count` floats that `make` computes from the operands' tensors.
  using MakeFloats = std::function<void(std::span<const model::Tensor* const>, float*)>;
  int64_t AddDerived(std::vector<size_t> operands, int64_t count, MakeFloats make);
  // An argument that writes output 0.
  static Argument Write(int name, const dnnl::memory::desc& desc);
  // Adds the primitive with its arguments and, if it needs one, a scratchpad.
  void AddStage(dnnl::primitive primitive, std::vector<Argument> arguments,
                const dnnl::memory::desc& scratchpad);

 private:
  struct PackedOperand {
    int operand = -1;  // To be reordered; -1: derived.
    dnnl::memory::desc given, wanted;
    std::vector<size_t> sources;
    MakeFloats make;
  };

  int64_t Reserve(int64_t bytes);

  const KernelSpec spec_;
  const std::vector<Operand> operands_;
  std::vector<PackedOperand> packed_;  // Parallel to constants().
  std::vector<Stage> stages_;
};

// The spec's epilogue as post-operations, with the arguments that they read. `dims` are those of
// the output as the primitive sees it (a MatMul may have joined axes). Post-operations are part of
// the primitive's attributes, so they come before the primitive descriptor. Fails with
// UNIMPLEMENTED if oneDNN lacks a function.
struct PostOps {
  dnnl::post_ops ops;
  std::vector<Argument> arguments;
};
absl::Status AppendEpilogue(PrimitiveKernel& kernel, const std::vector<int64_t>& dims,
                            PostOps& post_ops);

// Attributes with these post-operations and a scratchpad provided by the caller.
dnnl::primitive_attr Attributes(const dnnl::post_ops& ops = {});

}  // namespace quotient::kernels::onednn
