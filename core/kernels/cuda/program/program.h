#pragma once

// Program: one way to run a kernel on a GPU. It has a few launches, usually one, that use operands,
// outputs, packed constants and temporaries. A plain value, made by lower.h without a GPU.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/kernels/cuda/interface/matmul_problem.h"
#include "core/kernels/cuda/interface/source_kernel.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// A buffer that a launch reads or writes.
struct BufferRef {
  enum class Kind : uint8_t {
    kOperand,    // One of AllOperands(spec) that is not constant.
    kConstant,   // One of Program::constants.
    kOutput,     // One of spec.outputs.
    kTemporary,  // One of Program::temporaries.
  };
  Kind kind = Kind::kOperand;
  int index = 0;
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

// A constant in the form that a launch needs. Made once, on the host.
struct PackedConstant {
  enum class Form : uint8_t {
    kPermuted,   // The operand as `type`, with its axes in the order of `permutation`.
    kNormScale,  // BatchNormalization: scale / sqrt(variance + epsilon), as float32.
    kNormShift,  // BatchNormalization: bias - mean * scale / sqrt(...), as float32.
    kFilled,     // No operand: `elements` times `value`, as `type`.
  };
  Form form = Form::kPermuted;
  // Index in AllOperands. For a BatchNormalization, that of the scale; bias, mean and variance
  // follow it.
  int operand = 0;
  std::vector<int> permutation;
  double epsilon = 0;
  double value = 0;
  model::DType type = model::DType::kFloat32;
  int64_t elements = 0;
  friend bool operator==(const PackedConstant&, const PackedConstant&) = default;
};

// For what has no kernel on the device: the operator's reference evaluation on the host between two
// copies. Slow but correct.
struct HostKernel {
  KernelSpec spec;
  friend bool operator==(const HostKernel&, const HostKernel&) = default;
};

struct Launch {
  std::variant<SourceKernel, MatmulProblem, DnnGraph, HostKernel> what;
  // In the order that `what` documents. For a HostKernel, the inputs that are present, then the
  // outputs that are present.
  std::vector<BufferRef> buffers;
};

struct Program {
  std::string name;  // Stable, because timings refer to it.
  std::vector<Launch> launches;
  std::vector<PackedConstant> constants;
  std::vector<int64_t> temporaries;  // Sizes in bytes.
};

}  // namespace quotient::kernels::cuda
