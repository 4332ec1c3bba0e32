#include "core/model/attribute.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quotient::model {
namespace {

bool SameDouble(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// The shortest form that reads back the same. An integral value is printed as "1.0", to differ from
// integers.
std::string DoubleText(double value) {
  std::string text = absl::StrFormat("%.9g", value);
  double back;
  if (!absl::SimpleAtod(text, &back) || !SameDouble(back, value)) {
    text = absl::StrFormat("%.17g", value);
  }
  if (text.find_first_of(".enai") == std::string::npos) text += ".0";
  return text;
}

std::string StringText(absl::string_view value) {
  return absl::StrCat("\"", absl::CEscape(value), "\"");
}

bool HasNan(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return false;
  const std::vector<double> values = tensor.AsDoubles();
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

// Appends the text of a value.
struct AppendText {
  std::string* text;

  void operator()(int64_t value) const { absl::StrAppend(text, value); }
  void operator()(double value) const { *text += DoubleText(value); }
  void operator()(const std::string& value) const { *text += StringText(value); }
  // Empty lists of different kinds differ.
  void operator()(const Ints& values) const { List(values, "[]"); }
  void operator()(const Floats& values) const { List(values, "floats[]"); }
  void operator()(const Strings& values) const { List(values, "strings[]"); }
  void operator()(const Tensor& tensor) const {
    // Decimal numbers do not distinguish NaNs.
    constexpr int64_t kMost = 16;
    const bool in_decimal = tensor.elements() <= kMost && !HasNan(tensor);
    absl::StrAppend(text, ToString(tensor.type()), " ",
                    ElementsText(tensor, in_decimal ? kMost : -1));
  }

 private:
  template <typename Values>
  void List(const Values& values, absl::string_view empty) const {
    if (values.empty()) {
      absl::StrAppend(text, empty);
      return;
    }
    char before = '[';
    for (const auto& value : values) {
      text->push_back(std::exchange(before, ','));
      (*this)(value);
    }
    text->push_back(']');
  }
};

}  // namespace

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) return SameDouble(*x, std::get<double>(b));
  if (const auto* x = std::get_if<Tensor>(&a)) return SameContent(*x, std::get<Tensor>(b));
  if (const auto* x = std::get_if<Floats>(&a)) {
    return std::equal(x->begin(), x->end(), std::get<Floats>(b).begin(), std::get<Floats>(b).end(),
                      SameDouble);
  }
  if (const auto* x = std::get_if<int64_t>(&a)) return *x == std::get<int64_t>(b);
  if (const auto* x = std::get_if<std::string>(&a)) return *x == std::get<std::string>(b);
  if (const auto* x = std::get_if<Ints>(&a)) return *x == std::get<Ints>(b);
  return std::get<Strings>(a) == std::get<Strings>(b);
}

AttributeMap::AttributeMap(std::initializer_list<std::pair<std::string, Attribute>> entries) {
  for (const auto& [name, value] : entries) Set(name, value);
}

const Attribute* AttributeMap::Find(absl::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (name == key) return &value;
  }
  return nullptr;
}

void AttributeMap::Set(absl::string_view name, Attribute value) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const auto& entry, absl::string_view key) {
                                     return absl::string_view(entry.first) < key;
                                   });
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::string(name), std::move(value));
  }
}

void AttributeMap::Erase(absl::string_view name) {
  std::erase_if(entries_, [name](const auto& entry) { return entry.first == name; });
}

int64_t AttributeMap::GetInt(absl::string_view name, int64_t otherwise) const {
  const Attribute* found = Find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<int64_t>(found);
  return value == nullptr ? otherwise : *value;
}

double AttributeMap::GetFloat(absl::string_view name, double otherwise) const {
  const Attribute* found = Find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<double>(found);
  return value == nullptr ? otherwise : *value;
}

std::string AttributeMap::GetString(absl::string_view name, absl::string_view otherwise) const {
  const Attribute* found = Find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(found);
  return value == nullptr ? std::string(otherwise) : *value;
}

const Ints* AttributeMap::FindInts(absl::string_view name) const {
  const Attribute* found = Find(name);
  return found == nullptr ? nullptr : std::get_if<Ints>(found);
}

Ints AttributeMap::GetInts(absl::string_view name, Ints otherwise) const {
  const Ints* found = FindInts(name);
  return found == nullptr ? std::move(otherwise) : *found;
}

bool operator==(const AttributeMap& a, const AttributeMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && SameAttribute(x.second, y.second);
  });
}

std::string ToString(const AttributeMap& attributes) {
  std::string text;
  if (attributes.empty()) return text;
  const char* before = "{";
  for (const auto& [name, value] : attributes) {
    absl::StrAppend(&text, before, name, "=");
    std::visit(AppendText{&text}, value);
    before = ", ";
  }
  text.push_back('}');
  return text;
}

}  // namespace quotient::model
