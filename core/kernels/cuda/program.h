#pragma once

// Program: one way to run a kernel on a GPU: a few launches, mostly one, over its operands,
// outputs, packed constants and temporaries. A plain value; made by lower.h without a GPU.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/kernels/cuda/dnn_graph.h"
#include "core/kernels/cuda/matmul_problem.h"
#include "core/kernels/cuda/source_kernel.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

// What a launch reads or writes.
struct BufferRef {
  enum class Kind : uint8_t {
    kOperand,    // of AllOperands(spec), not constant
    kConstant,   // of Program::constants
    kOutput,     // of spec.outputs
    kTemporary,  // of Program::temporaries
  };
  Kind kind = Kind::kOperand;
  int index = 0;
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

// A constant as a launch wants it in memory; made once, on the host.
struct PackedConstant {
  enum class Form : uint8_t {
    kPermuted,   // the operand with its axes in the order of `permutation`, as `type`
    kNormScale,  // BatchNormalization: scale / sqrt(variance + epsilon), as float32
    kNormShift,  // BatchNormalization: bias - mean * scale / sqrt(variance + epsilon), as float32
    kFilled,     // no operand: `elements` times `value`, as `type`
  };
  Form form = Form::kPermuted;
  int operand =
      0;  // of AllOperands; of a BatchNormalization its scale: bias, mean, variance follow
  std::vector<int> permutation;
  double epsilon = 0;
  double value = 0;
  model::DType type = model::DType::kFloat32;
  int64_t elements = 0;
  friend bool operator==(const PackedConstant&, const PackedConstant&) = default;
};

// What has no kernel on the device: the operator's reference evaluation on the host, between two
// copies. Slow but right.
struct HostKernel {
  KernelSpec spec;
  friend bool operator==(const HostKernel&, const HostKernel&) = default;
};

struct Launch {
  std::variant<SourceKernel, MatmulProblem, DnnGraph, HostKernel> what;
  // In the order that `what` documents; of a HostKernel the inputs that are there, then the outputs
  // that are there.
  std::vector<BufferRef> buffers;
};

struct Program {
  std::string name;  // stable: part of what a timing remembers
  std::vector<Launch> launches;
  std::vector<PackedConstant> constants;
  std::vector<int64_t> temporaries;  // bytes
};

}  // namespace quotient::kernels::cuda
