#pragma once

// Attributes of nodes: named values, sorted by name so that equal maps have one form.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/tensor.h"

namespace quotient::model {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;  // ONNX floats as doubles, so that printing them is exact.
using Strings = std::vector<std::string>;
using Attribute = std::variant<int64_t, double, std::string, Ints, Floats, Strings, Tensor>;

// Whether the content is equal. Tensors are compared by bytes, floats bitwise (NaN equals NaN).
bool SameAttribute(const Attribute& a, const Attribute& b);

class AttributeMap {
 public:
  AttributeMap() = default;
  AttributeMap(std::initializer_list<std::pair<std::string, Attribute>> entries);

  // Null if there is no attribute with that name.
  const Attribute* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  void Set(absl::string_view name, Attribute value);
  void Erase(absl::string_view name);

  // The value if it is present and of that kind, otherwise the default.
  int64_t GetInt(absl::string_view name, int64_t otherwise) const;
  double GetFloat(absl::string_view name, double otherwise) const;
  std::string GetString(absl::string_view name, absl::string_view otherwise) const;
  // Null if the attribute is absent or of another kind.
  const Ints* FindInts(absl::string_view name) const;
  Ints GetInts(absl::string_view name, Ints otherwise = {}) const;

  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  friend bool operator==(const AttributeMap& a, const AttributeMap& b);

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;  // Sorted by name.
};

// Prints "{axis=1, pads=[0,0,1,1], value=int64[1] [7]}", and "" for an empty map. The text is
// canonical: maps are equal exactly if their texts are (large tensors show their digest).
std::string ToString(const AttributeMap& attributes);

}  // namespace quotient::model
