// QuantizeLinear and DequantizeLinear.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/pointwise.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/quantize_steps.h"
#include "core/ops/interval.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

// fmaxf and fminf return the other operand for NaN, so that NaN becomes the lowest number. $0 is
// the zero point, $1 and $2 are the lowest and the highest number, $3 is their type.
constexpr char kQuantize[] = R"(  const float zero = (float)$0;
  const float steps = rintf(fminf(fmaxf(v0 / v1, $1.0f - zero), $2.0f - zero));
  return ($3)((i32)steps + (i32)$0);
)";

// $0 is the zero point.
constexpr char kDequantize[] = "  return (float)((i64)v0 - (i64)$0) * v1;\n";

// Integers whose limits, less a zero point, are floats.
bool IsShort(DType dtype) { return model::IsInteger(dtype) && model::DTypeBits(dtype) <= 16; }

bool IsComputedAsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

}  // namespace

std::optional<Program> MakeQuantizeProgram(const KernelSpec& spec) {
  const bool quantizes = spec.op == "QuantizeLinear";
  if ((!quantizes && spec.op != "DequantizeLinear") || !spec.epilogue.empty()) return std::nullopt;
  const DType result = spec.outputs[0].type.dtype;
  const DType floats = quantizes ? spec.inputs[0].type.dtype : result;
  const DType steps = quantizes ? result : spec.inputs[0].type.dtype;
  const bool fits = quantizes ? IsShort(steps) : IsShort(steps) || steps == DType::kInt32;
  if (!fits || !IsComputedAsFloat(floats) || !IsComputedAsFloat(spec.inputs[1].type.dtype)) {
    return std::nullopt;
  }
  ProgramWriter writer(spec, "quantize");
  std::vector<PointwiseInput> inputs = {{spec.inputs[0], writer.Operand(0)},
                                        {BroadcastSteps(spec, 1), writer.Operand(1)}};
  if (HasZeroPoint(spec)) inputs.push_back({BroadcastSteps(spec, 2), writer.Operand(2)});
  const std::string zero_point = HasZeroPoint(spec) ? "v2" : "0";
  const ops::Interval numbers = ops::AnythingOf(steps);
  const std::string body =
      quantizes ? absl::Substitute(kQuantize, zero_point, static_cast<int>(numbers.low),
                                   static_cast<int>(numbers.high), ComputedType(result))
                : absl::Substitute(kDequantize, zero_point);
  AddPointwise({.kernel = "quantize",
                .inputs = std::move(inputs),
                .output = spec.outputs[0],
                .output_buffer = writer.Output(0),
                .functions = kMathPrelude,
                .body = body,
                .result_type = ComputedType(result)},
               writer);
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
