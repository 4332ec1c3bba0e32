#pragma once

// What fuses with what: the one rule that predicting and executing share.
//
// A kernel is a main operator and a chain of element-wise nodes behind it. A contraction takes what
// kernel libraries take as post-operations; an element-wise main operator takes any other one.

#include <span>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

// No kernel has more element-wise nodes behind its main operator than this.
inline constexpr int kMaxEpilogue = 16;

// Conv, ConvTranspose, MatMul, Gemm.
bool IsContraction(absl::string_view op);

// How an operand of an element-wise node spreads over the running value.
enum class Spread { kFull, kScalar, kChannel, kOther };
// `channel_axis` is the running value's axis that kChannel is about.
Spread SpreadOf(const model::TensorType& operand, const model::TensorType& running,
                int channel_axis);

// The axis along which the outputs of a contraction are its channels.
int ChannelAxis(absl::string_view main_op, int rank);

// An element-wise node as the rule sees it; all types static.
struct ElementwiseNode {
  absl::string_view op;
  const model::AttributeMap& attributes;
  std::span<const Operand> inputs;  // the running value among them
  const model::TensorType& output;
  int running = 0;  // position of the running value in `inputs`
};

// Pow by a constant 2, 3 or 1/2 is a cheap multiplication or root where others are dear: specs of
// such a Pow carry the exponent in this attribute (and of attention the scale, attention.h).
inline constexpr char kExponentAttribute[] = "exponent";
void NoteExponent(absl::string_view op, const model::Tensor* exponent,
                  model::AttributeMap* attributes);

// Whether a node of this operator and so many inputs could be one of those below at all. Asked
// before the inputs are gathered: a Concat of many parts is asked once by each of them.
bool MayBeChainNode(absl::string_view op, size_t num_inputs);

// Whether the node is one that a fused element-wise kernel computes, as the main operator or
// behind it: floats that are computed in single precision, parameters constant.
bool IsChainNode(const ElementwiseNode& node);

// Whether the node may run as the epilogue of a kernel whose main operator is `main_op`. The
// running value must have no other reader; that is the caller's to know.
bool FusesAsEpilogue(absl::string_view main_op, const ElementwiseNode& node);

}  // namespace quotient::kernels
