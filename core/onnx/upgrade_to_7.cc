#include "core/onnx/upgrade_to_7.h"

#include "absl/strings/string_view.h"

namespace quotient::onnx {
namespace {

using model::Node;
using model::TensorType;

const TensorType* TypeAt(const OldForm& form, size_t input) {
  return input < form.types.size() ? form.types[input] : nullptr;
}

// `consumed_inputs` hinted that the output may take the input's memory. It says nothing about
// values.
bool EraseConsumedInputs(const OldForm&, Node& node) {
  node.attributes.Erase("consumed_inputs");
  return true;
}

// With `broadcast`, the second input could have fewer dimensions, which were matched with those of
// the first input from `axis` on, or with its last ones if there was no `axis`. Today they always
// match the last ones; any other place would need a Reshape. Without `broadcast`, both inputs had
// the same shape.
bool UpgradeBinary(const OldForm& form, Node& node) {
  node.attributes.Erase("consumed_inputs");
  node.attributes.Erase("broadcast");
  if (!node.attributes.Has("axis")) return true;
  const int64_t axis = node.attributes.GetInt("axis", 0);
  node.attributes.Erase("axis");
  const TensorType *a = TypeAt(form, 0), *b = TypeAt(form, 1);
  if (a == nullptr || b == nullptr || !a->has_rank() || !b->has_rank()) return false;
  const int64_t first = axis < 0 ? axis + a->rank() : axis;
  // In 64 bits, and without adding to what the file says, which may be any number.
  return first == int64_t{a->rank()} - b->rank();
}

// Without `is_test`, the operator did what it does during training, which has no present form here.
bool UpgradeTestMode(const OldForm&, Node& node) {
  const bool is_test = node.attributes.GetInt("is_test", 0) != 0;
  node.attributes.Erase("consumed_inputs");
  node.attributes.Erase("is_test");
  return is_test;
}

bool UpgradeConcat(const OldForm&, Node& node) {
  if (!node.attributes.Has("axis")) node.attributes.Set("axis", int64_t{1});
  return true;
}

// The bias was broadcast as a binary operator's second input.
bool UpgradeGemm(const OldForm&, Node& node) {
  node.attributes.Erase("broadcast");
  return true;
}

// Opset 7 added count_include_pad, whose default is what the operator did before.
bool UpgradeAveragePool(const OldForm&, Node&) { return true; }

struct Upgrade {
  absl::string_view op;
  bool (*apply)(const OldForm& form, Node& node);
};

constexpr Upgrade kUpgrades[] = {
    {"Abs", EraseConsumedInputs},
    {"Add", UpgradeBinary},
    {"And", UpgradeBinary},
    {"AveragePool", UpgradeAveragePool},
    {"BatchNormalization", UpgradeTestMode},
    {"Ceil", EraseConsumedInputs},
    {"Clip", EraseConsumedInputs},
    {"Concat", UpgradeConcat},
    {"Div", UpgradeBinary},
    {"Dropout", UpgradeTestMode},
    {"Elu", EraseConsumedInputs},
    {"Equal", UpgradeBinary},
    {"Exp", EraseConsumedInputs},
    {"Floor", EraseConsumedInputs},
    {"Gemm", UpgradeGemm},
    {"Greater", UpgradeBinary},
    {"HardSigmoid", EraseConsumedInputs},
    {"InstanceNormalization", EraseConsumedInputs},
    {"LeakyRelu", EraseConsumedInputs},
    {"Less", UpgradeBinary},
    {"Log", EraseConsumedInputs},
    {"Max", EraseConsumedInputs},
    {"Mean", EraseConsumedInputs},
    {"Min", EraseConsumedInputs},
    {"Mul", UpgradeBinary},
    {"Neg", EraseConsumedInputs},
    {"Or", UpgradeBinary},
    {"Pow", UpgradeBinary},
    {"Reciprocal", EraseConsumedInputs},
    {"Relu", EraseConsumedInputs},
    {"Reshape", EraseConsumedInputs},
    {"Sigmoid", EraseConsumedInputs},
    {"Sqrt", EraseConsumedInputs},
    {"Sub", UpgradeBinary},
    {"Sum", EraseConsumedInputs},
    {"Tanh", EraseConsumedInputs},
    {"Xor", UpgradeBinary},
};

}  // namespace

bool UpgradeTo7(const OldForm& form, Node& node) {
  for (const Upgrade& upgrade : kUpgrades) {
    if (upgrade.op == node.op) return upgrade.apply(form, node);
  }
  return false;
}

}  // namespace quotient::onnx
