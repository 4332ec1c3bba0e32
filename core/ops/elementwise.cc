#include "core/ops/elementwise.h"

#include "core/base/status_macros.h"

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

absl::StatusOr<InferResult> InferBroadcast(const InferContext& context, DType dtype) {
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<model::Shape> shape, BroadcastInputs(context.inputs));
  if (!shape) return UnknownShape(dtype);
  return OneOutput(model::TensorType(dtype, *std::move(shape)));
}

absl::StatusOr<InferResult> InferAlongAxis(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, DTypeAt(context, 0)));
  if (const model::Shape* shape = ShapeAt(context, 0); shape != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(
        NormalizeAxis(context.attributes.GetInt("axis", -1), shape->size()).status());
  }
  return OneOutput(*context.inputs[0].type);
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
