// Pools: extremes and means of what lies in a window.

#include <optional>
#include <vector>

#include "core/prove/families.h"
#include "core/prove/window.h"

namespace quotient::prove {
namespace {

// Whether the operation is a pool of the form that is defined here.
bool HasForm(const Operation& operation, const std::optional<Window>& window) {
  return window && operation.attributes.FindInts("kernel_shape") != nullptr;
}

// The elements of x in the window at an index of the output.
std::vector<Element> ElementsIn(const Operation& operation, const Window& window,
                                const Ints& index) {
  const FieldTensor& x = operation.input(0);
  const Ints& kernel = *operation.attributes.FindInts("kernel_shape");
  std::vector<Element> elements;
  Ints tap(kernel.size(), 0);
  do {
    Ints at = index;
    bool inside = true;
    for (size_t i = 0; i < kernel.size(); ++i) {
      at[i + 2] = index[i + 2] * window.strides[i] + tap[i] * window.dilations[i] - window.pads[i];
      inside &= at[i + 2] >= 0 && at[i + 2] < x.dims[i + 2];
    }
    if (inside) elements.push_back(x.elements[Offset(at, x.dims)]);
  } while (Advance(tap, kernel));
  return elements;
}

absl::StatusOr<FieldTensor> EvaluateMaxPool(const Operation& operation) {
  const std::optional<Window> window = ReadWindow(operation);
  if (!HasForm(operation, window)) return OtherForm(operation);
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) -> Element {
    const std::vector<Element> elements = ElementsIn(operation, *window, index);
    has_values &= !elements.empty();
    return elements.empty() ? 0 : Largest(operation, elements);
  });
  if (!has_values) return NoValue(operation);
  return result;
}

absl::StatusOr<FieldTensor> EvaluateAveragePool(const Operation& operation) {
  const std::optional<Window> window = ReadWindow(operation);
  if (!HasForm(operation, window)) return OtherForm(operation);
  const int64_t all = NumElements(*operation.attributes.FindInts("kernel_shape"));
  const bool counts_pads = operation.attributes.GetInt("count_include_pad", 0) != 0;
  // What `ceil_mode` adds at the end does not count, although pads do.
  if (counts_pads && operation.attributes.GetInt("ceil_mode", 0) != 0) return OtherForm(operation);
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    const std::vector<Element> elements = ElementsIn(operation, *window, index);
    Element sum = 0;
    for (const Element each : elements) sum = Add(sum, each);
    const auto count = counts_pads ? all : static_cast<int64_t>(elements.size());
    const std::optional<Element> scale = Inverse(FromInteger(count));
    has_values &= scale.has_value();
    return Multiply(sum, scale.value_or(0));
  });
  if (!has_values) return NoValue(operation);
  return result;
}

}  // namespace

std::optional<Window> ReadWindow(const Operation& operation) {
  const size_t spatial = operation.dims.size() - 2;
  if (operation.attributes.GetString("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  return Window{operation.attributes.GetInt("group", 1),
                operation.attributes.GetInts("strides", Ints(spatial, 1)),
                operation.attributes.GetInts("dilations", Ints(spatial, 1)),
                operation.attributes.GetInts("pads", Ints(2 * spatial, 0))};
}

std::span<const Definition> PoolDefinitions() {
  static constexpr Definition kDefinitions[] = {
      {"MaxPool", EvaluateMaxPool},
      {"AveragePool", EvaluateAveragePool},
  };
  return kDefinitions;
}

}  // namespace quotient::prove
