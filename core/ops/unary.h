#pragma once

// What the families of element-wise operators of one tensor share (unary, function, activation):
// inference, evaluation of a C++ function, and rows.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/elementwise.h"
#include "core/ops/support.h"

namespace quotient::ops {

// The type of input 0, which is all that can be said for most operators.
template <Domain domain>
absl::StatusOr<InferResult> InferSame(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, DTypeAt(context, 0)));
  return OneOutput(*context.inputs[0].type);
}

// `f` is a stateless lambda from double to double.
template <auto f>
absl::StatusOr<std::vector<model::Tensor>> EvaluateFloat(const EvaluateContext& context) {
  return MapElements<1, double>(context, f);
}

// F is constructed from the attributes.
template <typename F>
absl::StatusOr<std::vector<model::Tensor>> EvaluateFloatWith(const EvaluateContext& context) {
  return MapElements<1, double>(context, F(context.attributes));
}

// The row of an operator that is no function of one float, or only for some attributes.
OpDef UnaryRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
               std::vector<AttributeDef> attributes = {});
// The row of a function of floats, which an operator may extend to other numbers.
OpDef Computing(UnaryFunction function, Fusion fusion, Numerics numerics, OpDef row);

// A function of floats without attributes.
template <auto f>
OpDef FloatRow(const char* name, int since_opset, UnaryFunction function, Fusion fusion,
               Numerics numerics = {}) {
  return Computing(function, fusion, std::move(numerics),
                   UnaryRow(name, since_opset, InferSame<Domain::kFloat>, EvaluateFloat<f>));
}

// A function of floats and of numbers that are attributes.
template <typename F>
OpDef FloatRowWith(const char* name, int since_opset, UnaryFunction function, Fusion fusion,
                   std::vector<AttributeDef> attributes, Numerics numerics = {}) {
  return Computing(function, fusion, std::move(numerics),
                   UnaryRow(name, since_opset, InferSame<Domain::kFloat>, EvaluateFloatWith<F>,
                            std::move(attributes)));
}

}  // namespace quotient::ops
