#pragma once

// Facts: what is certain of the elements of a tensor without computing it. They license rules such
// as dropping the NaN guard behind a Softmax, so they hold for every input that a model may be
// given: a float graph input can be NaN, infinite or as large as its type allows, unless the user
// said otherwise (FactsOfInput). Sums and products overflow as they do in the element type.

#include <cstdint>
#include <optional>
#include <span>

#include "core/domain/interval.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/op.h"

namespace quotient::domain {

// Each element v is tied to those elements x of another class of the same rank that it is broadcast
// with: what keeps x / sqrt(mean(x^2) + e) bounded, which the bounds of x alone do not say.
struct Tie {
  enum class Kind : uint8_t {
    kSquare,      // v >= factor x^2
    kSize,        // v >= factor |x|
    kReciprocal,  // |v| <= 1 / (factor |x|)
  };
  uint32_t to = 0;  // a ClassId
  Kind kind = Kind::kSquare;
  double factor = 1;

  friend bool operator==(const Tie&, const Tie&) = default;
};

struct Facts {
  Interval values;
  // Every row along the last axis that has elements has one that is not below this. (A tensor of
  // rank 0 is a row.) At least values.low.
  double row_floor = -Interval::kInfinity;
  std::optional<Tie> tie;

  bool finite() const { return values.finite(); }
  bool never_nan() const { return !values.may_be_nan; }
  bool nonnegative() const { return values.nonnegative(); }
  bool positive() const { return values.positive(); }
  // Softmax along the last axis gives no NaN: no NaN, no +infinity, a finite element in every row.
  bool softmax_safe() const {
    return never_nan() && values.high < Interval::kInfinity && row_floor > -Interval::kInfinity;
  }

  friend bool operator==(const Facts&, const Facts&) = default;
};

// Both are certain of the same value.
Facts Both(const Facts& a, const Facts& b);

// What is certain of any value of that type.
Facts FactsOfAnything(const model::TensorType& type);

// What Options::assume_finite_inputs says of float inputs: none is NaN, or larger than this.
inline constexpr double kLargestAssumedInput = 1e6;

// Of a graph input. A float is anything, unless inputs are assumed to be finite.
Facts FactsOfInput(const model::TensorType& type, bool assume_finite_inputs);
Facts FactsOfConstant(const model::Tensor& tensor);

// What an operator makes of its inputs' facts. An input left out has a null type.
struct FactInput {
  const Facts* facts = nullptr;  // its tie names a canonical class
  const model::TensorType* type = nullptr;
  const model::Tensor* constant = nullptr;
  uint32_t cls = 0;  // canonical
};
Facts FactsOfOperator(const ops::OpDef& def, const model::AttributeMap& attributes,
                      std::span<const FactInput> inputs, const model::TensorType& output);

}  // namespace quotient::domain
