#pragma once

// Facts: what is certain of the elements of a float tensor without computing it, taken over the
// reals and for finite graph inputs (overflow of a sum or product of finite numbers is not
// considered, that of an exponential is). They license rules such as dropping the NaN guard behind
// a Softmax. Integers and booleans are always finite.

#include <cstdint>
#include <optional>
#include <span>

#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/op.h"

namespace quotient::domain {

struct Facts {
  enum class Sign : uint8_t { kAny, kNonNegative, kPositive };
  bool finite = false;  // no NaN, no infinity
  // Softmax along the last axis gives no NaN: no NaN, no +infinity, a finite element in every row.
  bool softmax_safe = false;
  Sign sign = Sign::kAny;

  bool nonnegative() const { return sign != Sign::kAny; }
  bool positive() const { return sign == Sign::kPositive; }

  friend bool operator==(const Facts&, const Facts&) = default;
};

// Both are certain of the same value.
Facts Both(const Facts& a, const Facts& b);

// Of a graph input or of a value nothing is known of.
Facts FactsOfInput(const model::TensorType& type);
Facts FactsOfConstant(const model::Tensor& tensor);

// What an operator makes of its inputs' facts. An input left out has a null type.
struct FactInput {
  const Facts* facts = nullptr;
  const model::TensorType* type = nullptr;
  const model::Tensor* constant = nullptr;
};
// `same_inputs`: both inputs of a binary operator are the same value.
Facts FactsOfOperator(const ops::OpDef& def, const model::AttributeMap& attributes,
                      std::span<const FactInput> inputs, const model::TensorType& output,
                      bool same_inputs);

}  // namespace quotient::domain
