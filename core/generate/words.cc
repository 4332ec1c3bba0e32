#include "core/generate/words.h"

#include <span>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/model/text.h"
#include "core/ops/op.h"

namespace quotient::generate {
namespace {

// By the beginnings of operators' names; in braces.
struct Row {
  const char* name;
  std::vector<const char*> attributes;
};

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
      {"Concat", {"{axis=0}", "{axis=1}", "{axis=2}", "{axis=3}"}},
      {"Conv",
       {"{}", "{pads=[1,1,1,1]}", "{pads=[1,0,2,1]}", "{strides=[2,2]}", "{strides=[1,3]}",
        "{pads=[1,1,1,1], strides=[2,1]}", "{dilations=[2,1], pads=[2,1,2,1]}", "{group=2}",
        "{group=2, pads=[1,1,1,1]}"}},
      {"Expand", {"{shape=[2,3]}", "{shape=[4,2,3]}", "{shape=[1,3]}", "{shape=[2,1]}"}},
      {"LayerNormalization", {"{}", "{axis=0}", "{axis=1}", "{axis=2}", "{epsilon=0.5}"}},
      {"Reduce",
       {"{axes=[0]}", "{axes=[1]}", "{axes=[2]}", "{axes=[0,1]}", "{axes=[0], keepdims=0}",
        "{axes=[1], keepdims=0}", "{axes=[2], keepdims=0}", "{axes=[0,1], keepdims=0}",
        "{axes=[2,3]}"}},
      {"Reshape", {"{shape=[6,4]}", "{shape=[2,12]}", "{shape=[24]}", "{shape=[4,3,2]}"}},
      {"Slice",
       {"{axes=[0], ends=[1], starts=[0]}", "{axes=[0], ends=[2], starts=[1]}",
        "{axes=[1], ends=[1], starts=[0]}", "{axes=[1], ends=[2], starts=[1]}",
        "{axes=[2], ends=[2], starts=[1]}", "{axes=[3], ends=[3], starts=[1]}",
        "{axes=[0,1], ends=[1,2], starts=[0,1]}", "{axes=[2], ends=[4], starts=[0], steps=[2]}",
        "{axes=[0], ends=[4], starts=[0], steps=[2]}",
        "{axes=[0], ends=[-9], starts=[9], steps=[-1]}",
        "{axes=[1], ends=[-5], starts=[1], steps=[-1]}"}},
      {"Softmax", {"{}", "{axis=0}", "{axis=1}", "{axis=2}"}},
      {"Tile", {"{repeats=[2,1]}", "{repeats=[1,2]}", "{repeats=[2,3]}", "{repeats=[2]}"}},
      {"Transpose",
       {"{perm=[1,0]}", "{perm=[0,2,1]}", "{perm=[1,0,2]}", "{perm=[1,2,0]}", "{perm=[2,0,1]}",
        "{perm=[2,1,0]}", "{perm=[0,2,3,1]}", "{perm=[1,0,3,2]}", "{perm=[0,1]}",
        "{perm=[0,1,2]}"}},
      {"Pad",
       {"{pads=[0,0,1,1,0,0,1,1]}", "{pads=[0,0,1,0,0,0,0,2]}", "{pads=[1,0,0,0,0,1,0,0]}",
        "{constant_value=1.0, pads=[0,0,1,1,0,0,1,1]}"}},
      {"MaxPool",
       {"{kernel_shape=[3,3], pads=[1,1,1,1]}", "{kernel_shape=[2,2], strides=[2,2]}",
        "{kernel_shape=[2,3], pads=[1,0,0,1], strides=[1,2]}",
        "{dilations=[2,1], kernel_shape=[2,2]}",
        "{ceil_mode=1, kernel_shape=[3,3], strides=[2,2]}"}},
      {"AveragePool",
       {"{kernel_shape=[3,3], pads=[1,1,1,1]}", "{kernel_shape=[2,2], strides=[2,2]}",
        "{count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]}",
        "{kernel_shape=[2,3], pads=[1,0,0,1], strides=[1,2]}",
        "{ceil_mode=1, kernel_shape=[3,3], strides=[2,2]}"}},
  };
  return rows;
}

}  // namespace

std::vector<AttributeMap> AttributesToTry(const std::string& name) {
  std::vector<AttributeMap> all;
  for (const Row& row : Rows()) {
    const bool is_this =
        absl::StartsWith(name, row.name) && (name == row.name || std::string("Reduce") == row.name);
    for (const char* text : row.attributes) {
      if (is_this) all.push_back(model::ParseAttributes(text).value());
    }
  }
  return all;
}

std::string AttributesText(const AttributeMap& attributes) {
  const std::string text = ToString(attributes);  // In braces, or empty.
  return text.empty() ? text : text.substr(1, text.size() - 2);
}

bool MayHaveAttributes(const Operator& op) {
  const ops::OpDef* const def = ops::FindOp(op.name);
  return !def->attributes.empty() || !def->parameters.empty();
}

std::string InBrackets(const Operator& op) {
  return MayHaveAttributes(op) ? absl::StrCat("[", AttributesText(op.attributes), "]") : "";
}

model::Tensor RandomWeights(const model::TensorType& type, int variable) {
  Rng rng(static_cast<uint64_t>(variable));
  std::vector<float> elements(static_cast<size_t>(type.elements()));
  for (float& each : elements) each = static_cast<float>(rng.Uniform(-1, 1));
  return model::Tensor::Floats(type.dims(), std::span<const float>(elements));
}

}  // namespace quotient::generate
