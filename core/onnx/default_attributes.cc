#include "core/onnx/default_attributes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ops/support.h"

namespace quotient::onnx {
namespace {

using model::Attribute;
using model::Ints;

constexpr char kContrib[] = "com.microsoft";
constexpr char kBlocked[] = "com.microsoft.nchwc";

// An operator that moves a window over an image. Its strides and dilations are 1 and its pads are
// 0 if they are left out, those of the output of a ConvTranspose (output_padding) as well.
struct WindowOperator {
  absl::string_view domain;
  absl::string_view op;
  bool has_weights;  // If so, kernel_shape can only repeat their shape.
};

// Those of ONNX, and those that ONNX Runtime makes of them in layouts of its own, with an
// activation inside, or quantized.
constexpr std::array<WindowOperator, 19> kWindowOperators = {{
    {"", "AveragePool", false},
    {"", "Col2Im", false},
    {"", "Conv", true},
    {"", "ConvInteger", true},
    {"", "ConvTranspose", true},
    {"", "DeformConv", true},
    {"", "LpPool", false},
    {"", "MaxPool", false},
    {"", "MaxUnpool", false},
    {"", "QLinearConv", true},
    {kContrib, "FusedConv", true},
    {kContrib, "NhwcConv", true},
    {kContrib, "NhwcFusedConv", true},
    {kContrib, "NhwcMaxPool", false},
    {kContrib, "QLinearAveragePool", false},
    {kContrib, "QLinearConv", true},
    {kBlocked, "AveragePool", false},
    {kBlocked, "Conv", true},
    {kBlocked, "MaxPool", false},
}};

// Null if the node's operator has no window.
const WindowOperator* FindWindowOperator(const RuntimeNode& node) {
  const auto found = std::ranges::find_if(kWindowOperators, [&](const WindowOperator& each) {
    return each.domain == node.domain && each.op == node.op;
  });
  return found == kWindowOperators.end() ? nullptr : &*found;
}

bool AreAll(const Ints& ints, int64_t value) {
  return std::ranges::all_of(ints, [&](int64_t each) { return each == value; });
}

// Whether the attribute is a list that says what its absence says. An empty list never does: ONNX
// Runtime loads a Conv without strides, but not one with empty strides.
bool IsDefault(const RuntimeNode& node, absl::string_view name, const Attribute& written) {
  const Ints* const ints = std::get_if<Ints>(&written);
  if (ints == nullptr || ints->empty()) return false;
  if (node.domain.empty() && node.op == "Transpose" && name == "perm") {
    return std::ranges::is_sorted(*ints, std::greater());  // A Transpose reverses by default.
  }
  const WindowOperator* const window = FindWindowOperator(node);
  if (window == nullptr) return false;
  if (name == "strides" || name == "dilations") return AreAll(*ints, 1);
  if (name == "pads" || name == "output_padding") return AreAll(*ints, 0);
  return name == "kernel_shape" && window->has_weights;
}

// Whether the attribute is an axis of the node's first input. The axis of a OneHot is one of its
// result. ONNX Runtime's own operators are not looked at: the first input of its QLinearConcat is a
// scale.
bool IsAxis(const RuntimeNode& node, absl::string_view name) {
  return node.domain.empty() && name == "axis" && node.op != "OneHot";
}

// The axis counted from the front. An axis stays as it is if it is outside of the rank, as that of
// a Flatten may be, or if the rank is not known.
Attribute FromTheFront(const Attribute& axis, int rank) {
  const int64_t* const written = std::get_if<int64_t>(&axis);
  if (written == nullptr) return axis;
  const absl::StatusOr<int64_t> normal = ops::NormalizeAxis(*written, rank);
  return normal.ok() ? Attribute(*normal) : axis;
}

}  // namespace

model::AttributeMap WithoutDefaults(const RuntimeNode& node, int rank) {
  model::AttributeMap kept;
  for (const auto& [name, written] : *node.attributes) {
    if (IsDefault(node, name, written)) continue;
    kept.Set(name, IsAxis(node, name) ? FromTheFront(written, rank) : written);
  }
  return kept;
}

}  // namespace quotient::onnx
