#pragma once

// Attributes of nodes: named values, ordered by name so that equal maps have one form.

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
using Floats = std::vector<double>;  // ONNX floats, widened: printing them keeps their exact value
using Strings = std::vector<std::string>;
using Attribute = std::variant<int64_t, double, std::string, Ints, Floats, Strings, Tensor>;

// Equal content; tensors by bytes, floats bitwise (NaN equals NaN).
bool SameAttribute(const Attribute& a, const Attribute& b);

class AttributeMap {
 public:
  AttributeMap() = default;
  AttributeMap(std::initializer_list<std::pair<std::string, Attribute>> entries);

  // Null if there is none of that name.
  const Attribute* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  void Set(absl::string_view name, Attribute value);
  void Erase(absl::string_view name);

  // The value if present and of that kind, else the default.
  int64_t GetInt(absl::string_view name, int64_t otherwise) const;
  double GetFloat(absl::string_view name, double otherwise) const;
  std::string GetString(absl::string_view name, absl::string_view otherwise) const;
  // Null if absent or of another kind.
  const Ints* FindInts(absl::string_view name) const;
  Ints GetInts(absl::string_view name, Ints otherwise = {}) const;

  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  friend bool operator==(const AttributeMap& a, const AttributeMap& b);

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;  // sorted by name
};

// "{axis=1, pads=[0,0,1,1], value=int64[1] [7]}"; canonical: equal maps give equal text, and
// conversely (large tensors show their digest). Empty maps give "".
std::string ToString(const AttributeMap& attributes);

}  // namespace quotient::model
