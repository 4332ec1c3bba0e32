#include "core/onnx/upgrade.h"

#include <algorithm>
#include <cfloat>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/dtype.h"

namespace quotient::onnx {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Node;
using model::Tensor;

const Tensor* ConstantAt(const OldForm& form, size_t input) {
  return input < form.constants.size() ? form.constants[input] : nullptr;
}

bool HasInput(const Node& node, size_t input) {
  return input < node.inputs.size() && node.inputs[input].valid();
}

// Removes an attribute. Returns false if its value was not `harmless`, the only value for which it
// can be removed without changing the meaning.
bool EraseIfInt(AttributeMap& attributes, absl::string_view name, int64_t harmless) {
  const bool is_harmless = attributes.GetInt(name, harmless) == harmless;
  attributes.Erase(name);
  return is_harmless;
}

bool UpgradeBatchNormalization(const OldForm&, Node& node) {
  node.attributes.Erase("momentum");  // Used only in training.
  return EraseIfInt(node.attributes, "spatial", 1) &&
         EraseIfInt(node.attributes, "training_mode", 0);
}

// These attributes affect only rounding to 8-bit floats, which are not computed with.
bool EraseFloat8Rounding(Node& node) {
  node.attributes.Erase("saturate");
  node.attributes.Erase("round_mode");
  return true;
}

bool UpgradeCast(const OldForm&, Node& node) {
  const auto to = model::DTypeFromOnnx(static_cast<int32_t>(
      std::clamp<int64_t>(node.attributes.GetInt("to", 0), INT32_MIN, INT32_MAX)));
  return to.has_value() && model::IsComputable(*to) && EraseFloat8Rounding(node);
}

bool UpgradeCastLike(const OldForm&, Node& node) { return EraseFloat8Rounding(node); }

// Before opset 11 the bounds had defaults, the ends of float's range. These are read as "no bound".
// That differs only for infinite inputs, and exporters of that time meant "no bound" as well.
bool UpgradeClip(const OldForm& form, Node& node) {
  if (form.opset >= 11) return true;
  if (node.attributes.GetFloat("min", -FLT_MAX) <= -FLT_MAX) node.attributes.Erase("min");
  if (node.attributes.GetFloat("max", FLT_MAX) >= FLT_MAX) node.attributes.Erase("max");
  return true;
}

// Opset 11 exchanged the meanings of SAME_UPPER and SAME_LOWER.
bool UpgradeConvTranspose(const OldForm& form, Node& node) {
  const std::string auto_pad = node.attributes.GetString("auto_pad", "NOTSET");
  return form.opset >= 11 || auto_pad == "NOTSET" || auto_pad == "VALID";
}

bool UpgradeMaxPool(const OldForm&, Node& node) {
  const bool has_indices = node.outputs.size() > 1 && node.outputs[1].valid();
  if (!has_indices) node.attributes.Erase("storage_order");  // Affects only the indices.
  return true;
}

bool UpgradePad(const OldForm& form, Node& node) {
  if (form.opset >= 11) return true;
  if (const Attribute* value = node.attributes.Find("value")) {
    node.attributes.Set("constant_value", *value);
    node.attributes.Erase("value");
  }
  return true;
}

// From opset 27 on, stash_type is the precision of the computation if elements have 16 bits. Only
// 1, float, is accepted.
bool UpgradeRange(const OldForm&, Node& node) {
  return EraseIfInt(node.attributes, "stash_type", 1);
}

// For Resize of opset 10 and for Upsample: coordinates are asymmetric, and "nearest" rounds down.
// Only growing is converted, because runtimes round up where an axis shrinks and the standard does
// not say which is right.
bool UpgradeUpsample(const OldForm& form, Node& node) {
  std::vector<double> scales;
  if (const auto* list = node.attributes.Find("scales")) {
    scales = std::get<model::Floats>(*list);
  } else if (const Tensor* tensor = ConstantAt(form, 1); tensor != nullptr) {
    if (!model::IsComputable(tensor->dtype())) return false;
    scales = tensor->AsDoubles();
  }
  const auto grows = [](double scale) { return scale >= 1; };
  if (scales.empty() || !std::all_of(scales.begin(), scales.end(), grows)) return false;

  const std::string mode = node.attributes.GetString("mode", "nearest");
  const bool is_linear = mode == "linear" || mode == "bilinear";
  if (mode != "nearest" && !is_linear) return false;
  node.op = "Resize";
  node.attributes = {{"coordinate_transformation_mode", std::string("asymmetric")},
                     {"mode", std::string(is_linear ? "linear" : "nearest")},
                     {"nearest_mode", std::string("floor")},
                     {"scales", std::move(scales)}};
  node.inputs.resize(1);
  return true;
}

// From opset 11 on, an empty tensor stands for an input that is left out.
bool UpgradeResize(const OldForm& form, Node& node) {
  if (form.opset < 11) return UpgradeUpsample(form, node);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* constant = ConstantAt(form, i);
    if (constant != nullptr && constant->elements() == 0) node.inputs[i] = model::ValueId();
  }
  // Only one mode reads the region.
  const std::string mode = node.attributes.GetString("coordinate_transformation_mode", "");
  if (HasInput(node, 1) && mode != "tf_crop_and_resize") node.inputs[1] = model::ValueId();
  return true;
}

// What a node computes has no known type yet. The type of its zero point is mostly known.
bool MayBeComputableAt(const OldForm& form, size_t index) {
  if (index >= form.types.size() || form.types[index] == nullptr) return true;
  const model::DType dtype = form.types[index]->dtype;
  return dtype == model::DType::kUndefined || model::IsComputable(dtype);
}

// Blocks of a scale of their own, 4-bit and 8-bit floats and integers, and other precisions than
// that of the scale are left to runtimes.
bool UpgradeSteps(const OldForm& form, Node& node) {
  node.attributes.Erase("saturate");  // Affects only 8-bit floats.
  return MayBeComputableAt(form, 0) && MayBeComputableAt(form, 2) &&
         EraseIfInt(node.attributes, "block_size", 0) &&
         EraseIfInt(node.attributes, "precision", 0);
}

// The type of the result is that of the zero point; uint8 without one.
bool UpgradeQuantizeLinear(const OldForm& form, Node& node) {
  const bool has_zero_point = HasInput(node, 2);
  const auto uint8 = static_cast<int64_t>(model::DType::kUint8);
  const int64_t wanted = node.attributes.GetInt("output_dtype", 0);
  node.attributes.Erase("output_dtype");
  return UpgradeSteps(form, node) && (has_zero_point || wanted == 0 || wanted == uint8);
}

bool UpgradeDequantizeLinear(const OldForm& form, Node& node) {
  return UpgradeSteps(form, node) && EraseIfInt(node.attributes, "output_dtype", 0);
}

struct Upgrade {
  absl::string_view op;
  bool (*apply)(const OldForm& form, Node& node);
};

constexpr Upgrade kUpgrades[] = {
    {"BatchNormalization", UpgradeBatchNormalization},
    {"Cast", UpgradeCast},
    {"CastLike", UpgradeCastLike},
    {"Clip", UpgradeClip},
    {"ConvTranspose", UpgradeConvTranspose},
    {"DequantizeLinear", UpgradeDequantizeLinear},
    {"MaxPool", UpgradeMaxPool},
    {"Pad", UpgradePad},
    {"QuantizeLinear", UpgradeQuantizeLinear},
    {"Range", UpgradeRange},
    {"Resize", UpgradeResize},
    {"Upsample", UpgradeUpsample},
};

}  // namespace

bool UpgradeNode(const OldForm& form, Node& node) {
  for (const Upgrade& upgrade : kUpgrades) {
    if (upgrade.op == node.op) return upgrade.apply(form, node);
  }
  return true;
}

}  // namespace quotient::onnx
