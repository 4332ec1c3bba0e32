#pragma once

// Decides which values may replace the node that computes them. The reference evaluator has an
// answer for every input, but runtimes differ where ONNX leaves the result open (a Cast of a number
// that the type cannot hold, an integer overflow in a reduction) or where the order of summation
// matters (infinities, numbers near the largest). Such nodes are left to the runtime, so that a
// folded value is what ONNX Runtime would have computed, within rounding. tests/judge checks this
// against ONNX Runtime and ONNX's reference evaluator.

#include <span>

#include "core/model/tensor.h"
#include "core/ops/op.h"

namespace quotient::ops {

// Checks the rule of the operator's class, then the operator's own. `outputs` come from its
// `evaluate`.
bool IsCertain(const OpDef& op, const EvaluateContext& context,
               std::span<const model::Tensor> outputs);

// Whether all floats are finite and so small that sums of many and products of a few stay finite in
// float32, in whatever order they are computed. True for integers and bool.
bool IsTame(const model::Tensor& tensor);
// Whether all inputs that are present are tame.
bool AreTame(const EvaluateContext& context);
// Whether ONNX Runtime knows which of two int64 is larger, when it picks one of many. Its vector
// code (1.31, x86) compares the lower halves as signed numbers where the upper halves are equal, so
// that 2^31 is less than 5.
bool AreOrdered(int64_t a, int64_t b);
// Whether all elements of int64 inputs, those `beside` them and 0 are ordered among each other.
bool AreOrdered(const EvaluateContext& context, std::span<const int64_t> beside = {});
// An OpDef::is_certain that asks that.
bool IsCertainIfOrdered(const EvaluateContext& context, std::span<const model::Tensor> outputs);
// An OpDef::is_certain that asks AreTame.
bool IsCertainIfTame(const EvaluateContext& context, std::span<const model::Tensor> outputs);

}  // namespace quotient::ops
