#include "core/onnx/einsum_shape.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quotient::onnx {
namespace {

using model::Dim;
using model::Shape;

constexpr char kEllipsis = '.';

// The labels of one operand, or of the output, with `kEllipsis` for "...". Returns nullopt if there
// are other characters or several ellipses.
std::optional<std::string> ParseTerm(absl::string_view term) {
  std::string labels;
  while (!term.empty()) {
    if (absl::ConsumePrefix(&term, "...")) {
      if (absl::StrContains(labels, kEllipsis)) return std::nullopt;
      labels.push_back(kEllipsis);
      continue;
    }
    if (!absl::ascii_isalpha(term[0])) return std::nullopt;
    labels.push_back(term[0]);
    term.remove_prefix(1);
  }
  return labels;
}

class Equation {
 public:
  // Returns false if the shape does not fit the labels, or the extents of labels in other operands.
  bool Bind(absl::string_view labels, const Shape& shape) {
    const size_t named = labels.size() - (absl::StrContains(labels, kEllipsis) ? 1 : 0);
    if (shape.size() < named || (shape.size() > named && named == labels.size())) return false;
    size_t axis = 0;
    for (const char label : labels) {
      const size_t count = label == kEllipsis ? shape.size() - named : 1;
      const Shape part(shape.begin() + axis, shape.begin() + axis + count);
      if (!Join(label, part)) return false;
      axis += count;
    }
    return true;
  }

  // Returns nullopt if a label occurs in no operand or is repeated in the output.
  std::optional<Shape> Output(absl::string_view labels) const {
    Shape shape;
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto extent = extents_.find(labels[i]);
      if (extent == extents_.end() || labels.find(labels[i], i + 1) != labels.npos) {
        return std::nullopt;
      }
      shape.insert(shape.end(), extent->second.begin(), extent->second.end());
    }
    return shape;
  }

  // The output of an equation without an arrow: the ellipsis, then the labels that occur once, in
  // alphabetical order. Returns nullopt if there are capital letters, because NumPy puts them
  // before all small letters and ONNX Runtime after them.
  std::optional<std::string> ImplicitOutput() const {
    std::string labels;
    for (const auto& [label, count] : counts_) {
      if (absl::ascii_isupper(label)) return std::nullopt;
      if (label == kEllipsis || count == 1) labels.push_back(label);
    }
    return labels;
  }

 private:
  bool Join(char label, const Shape& part) {
    ++counts_[label];
    const auto [extent, is_new] = extents_.emplace(label, part);
    if (is_new) return true;
    absl::StatusOr<Shape> both = model::Broadcast(extent->second, part);
    if (!both.ok()) return false;
    extent->second = *std::move(both);
    return true;
  }

  std::map<char, Shape> extents_;  // By label. An ellipsis may have any number of axes.
  std::map<char, int> counts_;     // Occurrences by label. '.' sorts before all letters.
};

}  // namespace

std::optional<Shape> EinsumShape(absl::string_view equation,
                                 std::span<const Shape* const> operands) {
  std::string text(equation);
  std::erase(text, ' ');
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || terms.size() != operands.size()) return std::nullopt;
  Equation bound;
  for (size_t i = 0; i < terms.size(); ++i) {
    const std::optional<std::string> labels = ParseTerm(terms[i]);
    if (!labels.has_value() || !bound.Bind(*labels, *operands[i])) return std::nullopt;
  }
  const std::optional<std::string> labels =
      sides.size() == 1 ? bound.ImplicitOutput() : ParseTerm(sides[1]);
  return labels.has_value() ? bound.Output(*labels) : std::nullopt;
}

}  // namespace quotient::onnx
