#pragma once

// Values of the tensors of a graph, in two arithmetics, and how operators compute them.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/rng.h"
#include "core/domain/tensor_egraph.h"
#include "core/model/dtype.h"
#include "core/model/tensor.h"
#include "core/prove/conditioning.h"
#include "core/prove/equations.h"
#include "core/prove/operation.h"

namespace quotient::prove {

// An operand of an operator; null if it is left out.
template <typename Value>
struct OperandOf {
  const Value* value = nullptr;
  model::DType dtype = model::DType::kUndefined;  // That the model declares.
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
  // How far they are apart: 0 or infinity.
  static double Error(const Value& a, const Value& b, const Sensitivity&);
  // From which error on values differ.
  static double Tolerance(model::DType) { return 0; }
  // Whether it is worth comparing.
  static bool SaysSomething(const Value& value, const Sensitivity&) {
    return !value.elements.empty();
  }
  // An element of the field may lack a value (1 / 0) where the number that it stands for has one.
  static constexpr bool kFailsOnlyAsModelsDo = false;
  static constexpr bool kRounds = false;
};

// Double, whatever float type the model declares, as FieldArithmetic. A cast to a narrower float
// rounds, and so do the operators that compute in float32 by definition: these are named in the
// agreement. A graph that casts from or to a 16-bit float is evaluated in the types that it
// declares: what was rounded once has to be rounded by both sides.
class FloatArithmetic {
 public:
  using Value = model::Tensor;
  using Operand = OperandOf<Value>;

  FloatArithmetic(const model::Graph& bound, Point point);

  absl::StatusOr<Value> OfConstant(const model::Tensor& tensor) const;
  Value OfInput(const model::TensorType& type, Rng& rng) const;
  absl::StatusOr<Value> OfOperator(const domain::OpWord& word, const std::vector<Operand>& operands,
                                   Agreement& agreement) const;
  static const Ints& DimsOf(const Value& value) { return value.dims(); }
  // NaN agrees with NaN alone. Relative to the element or its sensitivity; in the types that the
  // model declares, relative to the largest element.
  double Error(const Value& a, const Value& b, const Sensitivity& sensitivity) const;
  // Of values of a type that the model declares. In double, four roundings of a constant.
  double Tolerance(model::DType declared) const;
  static bool SaysSomething(const Value& value, const Sensitivity& sensitivity);
  static constexpr bool kFailsOnlyAsModelsDo = true;
  static constexpr bool kRounds = true;

  // How often the sensitivity of values is sampled.
  int perturbations() const { return in_declared_types_ ? 0 : point_.perturbations; }

 private:
  Point point_;
  bool in_declared_types_;
};

}  // namespace quotient::prove
