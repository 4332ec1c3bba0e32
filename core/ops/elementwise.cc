#include "core/ops/elementwise.h"

namespace quotient::ops {
namespace {

using model::DType;

bool InDomain(Domain domain, DType dtype) {
  const bool complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
  switch (domain) {
    case Domain::kAny:
      return true;
    case Domain::kBool:
      return dtype == DType::kBool;
    case Domain::kNumeric:
      return dtype != DType::kBool && dtype != DType::kString && !complex;
    case Domain::kFloat:
      return !model::IsInteger(dtype) && dtype != DType::kBool && dtype != DType::kString &&
             !complex;
  }
  return false;
}

}  // namespace

absl::Status CheckDomain(Domain domain, DType dtype) {
  if (dtype == DType::kUndefined || InDomain(domain, dtype)) return absl::OkStatus();
  return ShapeError("the operator does not take elements of type ", model::DTypeName(dtype));
}

OpDef PairRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
              bool commutative) {
  return {.name = name,
          .op_class = OpClass::kBinary,
          .min_inputs = 2,
          .max_inputs = 2,
          .max_outputs = 1,
          .since_opset = since_opset,
          .layout = LayoutRole::kTied,
          .commutative = commutative,
          .infer = infer,
          .evaluate = evaluate};
}

OpDef Fusing(Fusion fusion, OpDef row) {
  row.fusion = fusion;
  return row;
}

}  // namespace quotient::ops
