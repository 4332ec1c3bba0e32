#include "core/onnx/downgrade.h"

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::onnx {
namespace {

using model::AttributeMap;
using model::Node;
using model::TensorType;

bool AllOnes(const model::Ints& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1; });
}

// Before opset 8 these operators did not broadcast their inputs.
bool DowngradeVariadic(const NewForm& form, Node&) {
  if (form.opset >= 8) return true;
  const TensorType& first = form.input_types[0];
  return std::all_of(
      form.input_types.begin(), form.input_types.end(),
      [&first](const TensorType& type) { return first.is_static() && type == first; });
}

bool DowngradePad(const NewForm& form, Node& node) {
  if (form.opset < 19 && node.attributes.GetString("mode", "constant") == "wrap") return false;
  if (form.opset >= 11) return true;
  if (const model::Attribute* value = node.attributes.Find("constant_value")) {
    node.attributes.Set("value", *value);
    node.attributes.Erase("constant_value");
  }
  return true;
}

// The forms of opset 10 (Resize) and of opsets 7 to 9 (Upsample); see UpgradeUpsample.
bool DowngradeToUpsample(const NewForm& form, Node& node) {
  const AttributeMap& attributes = node.attributes;
  const bool nearest = attributes.GetString("mode", "nearest") == "nearest";
  if (attributes.GetString("coordinate_transformation_mode", "half_pixel") != "asymmetric" ||
      (!nearest && attributes.GetString("mode", "") != "linear") ||
      (nearest && attributes.GetString("nearest_mode", "") != "floor")) {
    return false;
  }
  const model::Attribute* scales = attributes.Find("scales");
  const model::Floats* values = scales == nullptr ? nullptr : std::get_if<model::Floats>(scales);
  if (values == nullptr || attributes.Has("axes") || attributes.Has("antialias") ||
      !std::all_of(values->begin(), values->end(), [](double scale) { return scale >= 1; })) {
    return false;
  }
  node.attributes = {{"mode", std::string(nearest ? "nearest" : "linear")}, {"scales", *values}};
  node.op = form.opset >= 10 ? "Resize" : "Upsample";
  return true;
}

bool DowngradeResize(const NewForm& form, Node& node) {
  if (form.opset < 11) return DowngradeToUpsample(form, node);
  return form.opset >= 19 ||
         node.attributes.GetString("coordinate_transformation_mode", "") != "half_pixel_symmetric";
}

bool DowngradeScatterNd(const NewForm& form, Node& node) {
  const std::string reduction = node.attributes.GetString("reduction", "none");
  return form.opset >= 18 || (reduction != "max" && reduction != "min");
}

bool DowngradeSlice(const NewForm& form, Node& node) {
  const model::Ints* steps = node.attributes.FindInts("steps");
  if (form.opset < 10 && steps != nullptr && AllOnes(*steps)) node.attributes.Erase("steps");
  return true;
}

// Before opset 13 all dimensions from the axis on were normalized together; see coerced_softmax.h.
bool DowngradeSoftmax(const NewForm& form, Node& node) {
  if (form.opset >= 13) return true;
  int64_t axis = node.attributes.GetInt("axis", -1);
  const TensorType& type = form.input_types[0];
  if (axis != -1 && (!type.has_rank() || axis != type.rank() - 1)) return false;
  if (axis == -1 && type.has_rank()) axis = type.rank() - 1;
  if (axis == -1 && form.opset < 11) return false;
  node.attributes.Set("axis", axis);
  return true;
}

// Before opset 18 the parts of a Split without sizes were equal by definition. A graph with such a
// Split was read at an opset before 18, so its dimension is a multiple of the number of parts.
bool DowngradeSplit(const NewForm& form, Node& node) {
  if (form.opset < 18) node.attributes.Erase("num_outputs");
  return true;
}

struct Downgrade {
  absl::string_view op;
  bool (*apply)(const NewForm& form, Node& node);
};

constexpr Downgrade kDowngrades[] = {
    {"LogSoftmax", DowngradeSoftmax},  {"Max", DowngradeVariadic}, {"Mean", DowngradeVariadic},
    {"Min", DowngradeVariadic},        {"Pad", DowngradePad},      {"Resize", DowngradeResize},
    {"ScatterND", DowngradeScatterNd}, {"Slice", DowngradeSlice},  {"Softmax", DowngradeSoftmax},
    {"Split", DowngradeSplit},         {"Sum", DowngradeVariadic},
};

}  // namespace

bool DowngradeNode(const NewForm& form, Node& node) {
  for (const Downgrade& downgrade : kDowngrades) {
    if (downgrade.op == node.op) return downgrade.apply(form, node);
  }
  return true;
}

}  // namespace quotient::onnx
