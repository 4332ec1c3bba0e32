#pragma once

// What the families of element-wise operators (unary, binary, logic) share: which element types an
// operator takes, and loops over an operator that is a plain C++ function of its operands.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/ops/support.h"

namespace quotient::ops {

// Element types that ONNX allows an operator. Types that are never computable (float8, string) are
// refused only where no ONNX operator of the kind takes them.
enum class Domain {
  kAny,
  kNumeric,  // floats and integers
  kFloat,
  kBool,
};

// MODEL_SHAPE naming the type if it is known and outside of the domain.
absl::Status CheckDomain(Domain domain, model::DType dtype);

// The row of an element-wise operator of two tensors, with broadcasting.
OpDef PairRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
              bool commutative);

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

// The first `arity` inputs, broadcast, through `f(T...)`. T is double, int64_t or uint64_t.
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

// In the arithmetic of input `typed_by`: uint64 has its own, all other integers and bool are exact
// in int64_t. `f` takes any of the three types.
template <size_t arity, typename F>
absl::StatusOr<std::vector<model::Tensor>> MapNumbers(const EvaluateContext& context, const F& f,
                                                      size_t typed_by = 0) {
  const model::DType dtype = context.inputs[typed_by]->dtype();
  if (model::IsFloat(dtype)) return MapElements<arity, double>(context, f);
  if (dtype == model::DType::kUint64) return MapElements<arity, uint64_t>(context, f);
  return MapElements<arity, int64_t>(context, f);
}

// Integer arithmetic that wraps around, as that of ONNX Runtime does, and is defined in C++.
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

// The larger or smaller one; NaN if either is.
template <typename T>
T MaxOf(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
T MinOf(T a, T b) {
  return a < b || a != a ? a : b;
}

}  // namespace quotient::ops
