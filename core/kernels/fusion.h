#pragma once

// Which nodes fuse: the rule that prediction and execution share. The rows of core/ops say which
// operators may fuse, and on which side.
//
// A kernel is a main operator and a chain of element-wise nodes behind it. A contraction takes what
// kernel libraries support as post-operations; an element-wise main operator takes any other
// element-wise operator.

#include <span>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

// Maximum number of element-wise nodes behind the main operator.
inline constexpr int kMaxEpilogue = 16;

// Conv, ConvTranspose, MatMul, Gemm.
bool IsContraction(absl::string_view op);

// How an operand of an element-wise node is broadcast to the running value.
enum class Spread { kFull, kScalar, kChannel, kOther };
// `channel_axis` is the axis of the running value for kChannel.
Spread SpreadOf(const model::TensorType& operand, const model::TensorType& running,
                int channel_axis);

// The axis of the channels in the output of a contraction.
int ChannelAxis(absl::string_view main_op, int rank);

// An element-wise node as the fusion rule sees it. All types are static.
struct ElementwiseNode {
  absl::string_view op;
  const model::AttributeMap& attributes;
  std::span<const Operand> inputs;  // Including the running value.
  const model::TensorType& output;
  int running = 0;  // Position of the running value in `inputs`.
};

// Pow with a constant exponent of 2, 3 or 1/2 is a cheap multiplication or root, while other
// exponents are expensive. So the spec of such a Pow has the exponent in this attribute, just as
// that of an attention has its scale (attention.h).
inline constexpr char kExponentAttribute[] = "exponent";
void NoteExponent(absl::string_view op, const model::Tensor* exponent,
                  model::AttributeMap* attributes);

// Whether a node with this operator and number of inputs could be a chain node at all. Asked before
// the inputs are gathered, because each part of a Concat with many parts asks it once.
bool MayBeChainNode(absl::string_view op, size_t num_inputs);

// Whether a fused element-wise kernel can compute the node, as its main operator or behind it. This
// needs floats that are computed in single precision, and constant parameters.
bool IsChainNode(const ElementwiseNode& node);

// Whether the node may run in the epilogue of a kernel with main operator `main_op`. The caller
// must know that nothing else reads the running value.
bool FusesAsEpilogue(absl::string_view main_op, const ElementwiseNode& node);

}  // namespace quotient::kernels
