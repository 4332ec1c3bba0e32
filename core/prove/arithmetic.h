#pragma once

// Values of the tensors of a graph, in two arithmetics, and how operators compute them.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/rng.h"
#include "core/domain/tensor_egraph.h"
#include "core/model/dtype.h"
#include "core/model/tensor.h"
#include "core/prove/equations.h"
#include "core/prove/operation.h"

namespace quotient::prove {

// An operand of an operator; null if it is left out.
template <typename Value>
struct OperandOf {
  const Value* value = nullptr;
  model::DType dtype = model::DType::kUndefined;
};

// Elements of a prime field: nothing is rounded.
class FieldArithmetic {
 public:
  using Value = FieldTensor;
  using Operand = OperandOf<Value>;

  // Fails for a constant that no element stands for.
  static absl::StatusOr<Value> OfConstant(const model::Tensor& tensor);
  // Random elements. Integers and bools are small, because they are indices and conditions.
  static Value OfInput(const model::TensorType& type, Rng& rng);
  // The first output. Functions that are left open are added to the agreement.
  static absl::StatusOr<Value> OfOperator(const domain::OpWord& word,
                                          const std::vector<Operand>& operands,
                                          Agreement& agreement);
  static const Ints& DimsOf(const Value& value) { return value.dims; }
  // How far they are apart, relative to the largest element: 0 or infinity.
  static double Error(const Value& a, const Value& b);
  // From which error on values differ.
  static double Tolerance(const Value&) { return 0; }
  // Whether it is worth comparing.
  static bool SaysSomething(const Value& value) { return !value.elements.empty(); }
  // An element of the field may lack a value (1 / 0) where the number that it stands for has one.
  static constexpr bool kFailsOnlyAsModelsDo = false;
};

// Numbers of the operators' own types. As FieldArithmetic.
class FloatArithmetic {
 public:
  using Value = model::Tensor;
  using Operand = OperandOf<Value>;

  static absl::StatusOr<Value> OfConstant(const model::Tensor& tensor) { return tensor; }
  static Value OfInput(const model::TensorType& type, Rng& rng);
  static absl::StatusOr<Value> OfOperator(const domain::OpWord& word,
                                          const std::vector<Operand>& operands, Agreement&);
  static const Ints& DimsOf(const Value& value) { return value.dims(); }
  // NaN agrees with NaN alone.
  static double Error(const Value& a, const Value& b);
  // A wrong rule is off by far more.
  static double Tolerance(const Value& value);
  static bool SaysSomething(const Value& value);
  static constexpr bool kFailsOnlyAsModelsDo = true;
};

}  // namespace quotient::prove
