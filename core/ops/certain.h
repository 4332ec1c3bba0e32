#pragma once

// Which values may stand in a model in place of the node that computes them. The reference
// evaluator has an answer for every input; runtimes have other answers where ONNX leaves the result
// open (a number that the type of a Cast does not hold, integers that overflow in a reduction) or
// where an order of summation decides (infinities, numbers near the largest). Such nodes are left
// to the runtime: what is folded is what ONNX Runtime would have computed from the node, within
// rounding. tests/judge holds this against ONNX Runtime and ONNX's reference evaluator.

#include <span>

#include "core/model/tensor.h"
#include "core/ops/op.h"

namespace quotient::ops {

// Asks what holds for the operator's class, then the row. `outputs` were computed by the row.
bool IsCertain(const OpDef& op, const EvaluateContext& context,
               std::span<const model::Tensor> outputs);

// No infinities, no NaN, and all floats so small that sums of many and products of a few of them
// stay finite in float32, in whatever order they are taken. True for integers and bool.
bool IsTame(const model::Tensor& tensor);
// All inputs that are there.
bool AreTame(const EvaluateContext& context);
// For OpDef::is_certain: AreTame.
bool IsCertainIfTame(const EvaluateContext& context, std::span<const model::Tensor> outputs);

}  // namespace quotient::ops
