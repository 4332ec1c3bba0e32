#pragma once

// What the families of element-wise operators (unary, binary, logic) share: checks of element
// types, and loops over a C++ function of the operands.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/ops/support.h"

namespace quotient::ops {

// The element types that ONNX allows for an operator. Types that are never computable (float8,
// string) are rejected only where no ONNX operator of that kind takes them.
enum class Domain {
  kAny,
  kNumeric,  // Floats and integers.
  kFloat,
  kBool,
};

// Fails with MODEL_SHAPE, naming the type, if it is known and outside the domain.
absl::Status CheckDomain(Domain domain, model::DType dtype);

// The broadcast shape of all inputs, with elements of this type.
absl::StatusOr<InferResult> InferBroadcast(const InferContext& context, model::DType dtype);

// The type of input 0, which has floats and the axis of the attribute, by default the last one.
absl::StatusOr<InferResult> InferAlongAxis(const InferContext& context);

// The row of an element-wise operator of two tensors, with broadcasting.
OpDef PairRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
              bool commutative);
// The row, with what fused kernels may do with the operator.
OpDef Fusing(Fusion fusion, OpDef row);

namespace elementwise_internal {

template <typename F, typename T, typename Storage, size_t... index>
void ComputeChunk(const F& f, std::span<const std::span<const Storage>> operands,
                  std::span<Storage> out, std::index_sequence<index...>) {
  const std::array<const Storage*, sizeof...(index)> data{operands[index].data()...};
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<Storage>(f(static_cast<T>(data[index][i])...));
  }
}

}  // namespace elementwise_internal

// Maps the first `arity` inputs, broadcast, through f(T...). T is double, int64_t or uint64_t.
template <size_t arity, typename T, typename F>
absl::StatusOr<std::vector<model::Tensor>> MapElements(const EvaluateContext& context, const F& f) {
  using Storage = std::conditional_t<std::is_same_v<T, double>, double, int64_t>;
  std::vector<model::Tensor> outputs;
  outputs.push_back(EvaluateElementwise<Storage>(
      context.inputs.first(arity), context.output_types[0], context.threads,
      [&f](std::span<const std::span<const Storage>> operands, std::span<Storage> out) {
        elementwise_internal::ComputeChunk<F, T>(f, operands, out,
                                                 std::make_index_sequence<arity>());
      }));
  return outputs;
}

// Computes in the arithmetic of input `typed_by`: double for floats, uint64_t for uint64, and
// int64_t, which is exact, for all other integers and bool. `f` must accept all three types.
template <size_t arity, typename F>
absl::StatusOr<std::vector<model::Tensor>> MapNumbers(const EvaluateContext& context, const F& f,
                                                      size_t typed_by = 0) {
  const model::DType dtype = context.inputs[typed_by]->dtype();
  if (model::IsFloat(dtype)) return MapElements<arity, double>(context, f);
  if (dtype == model::DType::kUint64) return MapElements<arity, uint64_t>(context, f);
  return MapElements<arity, int64_t>(context, f);
}

// Integer arithmetic that wraps around like that of ONNX Runtime, without undefined behavior.
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// The larger or the smaller number; NaN if either is NaN.
template <typename T>
T MaxOf(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
T MinOf(T a, T b) {
  return a < b || a != a ? a : b;
}

}  // namespace quotient::ops
