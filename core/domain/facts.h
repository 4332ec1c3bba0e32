#pragma once

// Facts: what is known about the elements of a tensor without computing it. They justify rules such
// as dropping the NaN guard after a Softmax, so they must hold for every input of the model: a
// float graph input can be NaN, infinite or as large as its type allows, unless the user said
// otherwise (FactsOfInput). They account for overflow of sums and products in the element type.

#include <cstdint>
#include <optional>
#include <span>

#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/interval.h"
#include "core/ops/op.h"

namespace quotient::domain {

using ops::Interval;

// Relates each element v to the elements x of another class of the same rank that it is broadcast
// with. Ties show that x / sqrt(mean(x^2) + e) is bounded, which the bounds of x alone cannot.
struct Tie {
  enum class Kind : uint8_t {
    kSquare,      // v >= factor x^2
    kSize,        // v >= factor |x|
    kReciprocal,  // |v| <= 1 / (factor |x|)
  };
  uint32_t to = 0;  // A ClassId.
  Kind kind = Kind::kSquare;
  double factor = 1;

  friend bool operator==(const Tie&, const Tie&) = default;
};

struct Facts {
  Interval values;
  // Every row along the last axis that has elements has one that is at least this. A tensor of rank
  // 0 is one row. Never below values.low.
  double row_floor = -Interval::kInfinity;
  std::optional<Tie> tie;

  bool finite() const { return values.finite(); }
  bool never_nan() const { return !values.may_be_nan; }
  bool nonnegative() const { return values.nonnegative(); }
  bool positive() const { return values.positive(); }
  // Whether Softmax along the last axis gives no NaN: there is no NaN and no +infinity, and every
  // row has a finite element.
  bool softmax_safe() const {
    return never_nan() && values.high < Interval::kInfinity && row_floor > -Interval::kInfinity;
  }

  friend bool operator==(const Facts&, const Facts&) = default;
};

// Combines two facts about the same value.
Facts Both(const Facts& a, const Facts& b);

// What holds for any value of the type.
Facts FactsOfAnything(const model::TensorType& type);

// With Options::assume_finite_inputs, float inputs are never NaN and at most this large.
inline constexpr double kLargestAssumedInput = 1e6;

// Facts of a graph input. A float can be anything, unless inputs are assumed to be finite.
Facts FactsOfInput(const model::TensorType& type, bool assume_finite_inputs);
Facts FactsOfConstant(const model::Tensor& tensor);

// Constants with more elements are not read one by one.
inline constexpr int64_t kMostReadElements = 1 << 16;

// The magnitudes of elements.
struct Sizes {
  double largest = 0;  // Infinite if there is no bound or an element may be NaN.
  // Among elements other than 0, infinite if there is none; 0 if it is not known.
  double smallest = 0;
};
// Exact, unless an element is NaN. Nullopt for more than kMostReadElements, or if they are no
// numbers.
std::optional<Sizes> SizesOfConstant(const model::Tensor& tensor);

// One input of FactsOfOperator. All pointers are null for an input left out.
struct FactInput {
  const Facts* facts = nullptr;  // Its tie names a canonical class.
  const model::TensorType* type = nullptr;
  const model::Tensor* constant = nullptr;
  uint32_t cls = 0;  // Canonical.
};
Facts FactsOfOperator(const ops::OpDef& def, const model::AttributeMap& attributes,
                      std::span<const FactInput> inputs, const model::TensorType& output);

}  // namespace quotient::domain
