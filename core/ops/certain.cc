#include "core/ops/certain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace quotient::ops {
namespace {

using model::Tensor;

// The sum of 2^30 products of three such numbers is below the largest float32.
constexpr double kTame = 0x1p31;

// Whether outputs combine many elements in an order that the runtime chooses.
bool Accumulates(OpClass op_class) {
  return op_class == OpClass::kContraction || op_class == OpClass::kReduction ||
         op_class == OpClass::kNormalization || op_class == OpClass::kWindow;
}

// Reductions and products over no elements: ONNX Runtime gives the reductions other shapes, and
// leaves the products uninitialized.
bool CombinesNothing(const OpDef& op, const EvaluateContext& context) {
  return (op.op_class == OpClass::kReduction || op.contraction.products != nullptr) &&
         context.inputs[0]->elements() == 0;
}

}  // namespace

bool IsTame(const Tensor& tensor) {
  if (!model::IsFloat(tensor.dtype())) return true;
  constexpr int64_t kBlock = 1024;
  std::vector<double> block(static_cast<size_t>(std::min(kBlock, tensor.elements())));
  for (int64_t begin = 0; begin < tensor.elements(); begin += kBlock) {
    const auto part =
        std::span(block).first(static_cast<size_t>(std::min(kBlock, tensor.elements() - begin)));
    tensor.Load(begin, part);
    for (double value : part) {
      if (!(std::abs(value) <= kTame)) return false;  // Also if NaN.
    }
  }
  return true;
}

bool AreTame(const EvaluateContext& context) {
  return std::all_of(context.inputs.begin(), context.inputs.end(),
                     [](const Tensor* input) { return input == nullptr || IsTame(*input); });
}

bool AreOrdered(int64_t a, int64_t b) {
  const auto is_lower_half_negative = [](int64_t x) { return static_cast<int32_t>(x) < 0; };
  return a >> 32 != b >> 32 || is_lower_half_negative(a) == is_lower_half_negative(b);
}

bool AreOrdered(const EvaluateContext& context, std::span<const int64_t> beside) {
  absl::flat_hash_map<int64_t, int64_t> by_upper_half = {{0, 0}};  // to an element that has it
  const auto is_ordered = [&by_upper_half](int64_t value) {
    return AreOrdered(by_upper_half.emplace(value >> 32, value).first->second, value);
  };
  const auto are_ordered = [&is_ordered](const Tensor* input) {
    return input == nullptr || input->dtype() != model::DType::kInt64 ||
           std::ranges::all_of(input->AsInts(), is_ordered);
  };
  return std::ranges::all_of(beside, is_ordered) &&
         std::ranges::all_of(context.inputs, are_ordered);
}

bool IsCertainIfOrdered(const EvaluateContext& context, std::span<const Tensor>) {
  return AreOrdered(context);
}

bool IsCertainIfTame(const EvaluateContext& context, std::span<const Tensor>) {
  return AreTame(context);
}

bool IsCertain(const OpDef& op, const EvaluateContext& context, std::span<const Tensor> outputs) {
  if (CombinesNothing(op, context)) return false;
  if (Accumulates(op.op_class) && !AreTame(context)) return false;
  return op.is_certain == nullptr || op.is_certain(context, outputs);
}

}  // namespace quotient::ops
