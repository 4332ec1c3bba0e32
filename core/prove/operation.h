#pragma once

// What operators compute when numbers are field elements. This is a second definition of the
// operators, written from their ONNX specification: it shares no code with core/ops, whose
// evaluation is itself among what rules rely on.
//
// What no polynomial computes is left open: a function such as Relu or Exp has a random value for
// each argument (it is uninterpreted). Rules that hold nevertheless hold for any function in its
// place. Max and Min, and what is made of them, choose by a random total order of the field.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/dtype.h"
#include "core/prove/field.h"

namespace quotient::prove {

using model::AttributeMap;
using model::Ints;

struct FieldTensor {
  Ints dims;
  std::vector<Element> elements;  // In row-major order.

  int rank() const { return static_cast<int>(dims.size()); }
  friend bool operator==(const FieldTensor&, const FieldTensor&) = default;
};

// An operator in canonical form (core/ops/README.md) with its operands.
struct Operation {
  std::string name;
  const AttributeMap& attributes;
  std::span<const FieldTensor* const> inputs;  // Null where one is left out.
  const Ints& dims;                            // Of the output.
  std::set<std::string>& functions;            // Receives those that were left open.
  std::span<const model::DType> types = {};    // Of the inputs, for what depends on them.

  const FieldTensor& input(size_t index) const { return *inputs[index]; }
  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
};

// UNIMPLEMENTED for operators that have no definition here; FAILED_PRECONDITION where the field has
// no value, such as 1 / 0.
absl::StatusOr<FieldTensor> Evaluate(const Operation& operation);

// The value of a function that is left open.
Element Uninterpreted(absl::string_view function, std::span<const Element> arguments);

}  // namespace quotient::prove
