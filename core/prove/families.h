#pragma once

// The operators, by family, and what their definitions share.

#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/prove/operation.h"

namespace quotient::prove {

struct Definition {
  absl::string_view name;
  absl::StatusOr<FieldTensor> (*evaluate)(const Operation&);
};
std::span<const Definition> ElementwiseDefinitions();
std::span<const Definition> MoveDefinitions();
std::span<const Definition> ContractionDefinitions();
std::span<const Definition> ReductionDefinitions();
std::span<const Definition> AttentionDefinitions();
std::span<const Definition> PoolDefinitions();

int64_t NumElements(const Ints& dims);
// Goes through the index tuples of a shape in row-major order, from all zeros. Advance returns
// false behind the last one.
bool Advance(Ints& index, const Ints& dims);
// The position of an element.
int64_t Offset(const Ints& index, const Ints& dims);
// The element of `tensor` that numpy's broadcasting puts at this index of a larger shape.
Element Broadcast(const FieldTensor& tensor, const Ints& index);

// A tensor of this shape with element(index) at each index.
template <typename ElementAt>
FieldTensor Filled(const Ints& dims, const ElementAt& element) {
  FieldTensor tensor{dims, {}};
  const int64_t count = NumElements(dims);
  tensor.elements.reserve(static_cast<size_t>(count));
  Ints index(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    tensor.elements.push_back(element(index));
    Advance(index, dims);
  }
  return tensor;
}

// The field has no value for these operands.
absl::Status NoValue(const Operation& operation);
// The operator has a definition, but not for this form.
absl::Status OtherForm(const Operation& operation);

// An attribute of type float has 32 bits.
std::optional<Element> FloatAttribute(const AttributeMap& attributes, absl::string_view name,
                                      double default_value);
// One element of a function that is left open, which the operation notes.
Element Open(const Operation& operation, absl::string_view function,
             std::span<const Element> arguments);
// The largest and the smallest of at least one element, in a random total order of the field, which
// the operation notes as a function that is left open. What holds in it holds in any order.
Element Largest(const Operation& operation, std::span<const Element> elements);
Element Smallest(const Operation& operation, std::span<const Element> elements);

}  // namespace quotient::prove
