#pragma once

// A small graph of operations that cuDNN may run as one kernel. It is independent of cuDNN's own
// types, so that only one source file uses those.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/cuda/interface/matmul_problem.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

struct DnnTensor {
  model::DType type = model::DType::kFloat32;
  // `dims` and `strides` have equal length: 3 for products ([batch, m, k]), 4 or 5 for convolutions
  // ([N, C, H, W], with channels-last strides), otherwise as the operation requires.
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // In elements.
  // Passed between two operations of the graph, never in memory.
  bool is_virtual = false;
  // A number that is known when the plan is built.
  std::optional<float> value;

  friend bool operator==(const DnnTensor&, const DnnTensor&) = default;
};

enum class DnnOp : uint8_t {
  kConvolution,            // x, w -> y; cross-correlation; groups follow from w's channels.
  kTransposedConvolution,  // dy, w -> dx
  kProduct,                // a [b, m, k], b [b, k, n] -> c
  kPointwise,              // a (, b (, c)) -> y, by mode
  kReduction,              // x -> y, by mode; reduced dims are 1 in y
  kPool,                   // x -> y, by mode
  kLayerNorm,              // x, scale, bias -> y; epsilon
  kRmsNorm,                // x, scale -> y; epsilon
  kAttention,              // q, k, v (, bias) -> y, all [batch, heads, length, size]; scale
};

enum class DnnMode : uint8_t {
  kNone,
  // kPointwise
  kIdentity,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kRelu,
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kGeluErf,
  kGeluTanh,
  kSwish,
  kElu,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kNeg,
  kAbs,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kReciprocal,
  // kReduction
  kReduceSum,
  kReduceMean,
  kReduceMax,
  kReduceMin,
  kReduceProd,
  // kPool
  kMaxPool,
  kAveragePoolWithPadding,
  kAveragePoolWithoutPadding,
};

struct DnnNode {
  DnnOp op = DnnOp::kPointwise;
  DnnMode mode = DnnMode::kNone;
  std::vector<int> inputs;  // Indices into DnnGraph::tensors.
  int output = 0;
  // For kConvolution, kTransposedConvolution and kPool, one per spatial axis.
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> window;  // kPool.
  double scale = 1;             // kAttention: of the products of queries and keys.
  double epsilon = 0;           // kLayerNorm, kRmsNorm.
  double slope = 0;             // kLeakyRelu.

  friend bool operator==(const DnnNode&, const DnnNode&) = default;
};

// Nodes are in execution order. The buffers of the graph are its tensors that are neither virtual
// nor values, in the order of `tensors`.
struct DnnGraph {
  MathPolicy policy = MathPolicy::kTf32;
  std::vector<DnnTensor> tensors;
  std::vector<DnnNode> nodes;

  friend bool operator==(const DnnGraph&, const DnnGraph&) = default;
};

// Whether the graph has a convolution, product or attention of float32. Only these have operands
// that tensor cores round.
bool MultipliesFloat32(const DnnGraph& graph);

// Canonical text: two graphs are equal exactly if their texts are. For caches of plans and for
// messages.
std::string ToString(const DnnGraph& graph);

}  // namespace quotient::kernels::cuda
