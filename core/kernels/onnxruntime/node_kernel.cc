#include "core/kernels/onnxruntime/node_kernel.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/random_floats.h"
#include "core/kernels/ort_fusions.h"
#include "core/onnx/default_attributes.h"
#include "core/onnx/detached_weights.h"

namespace quotient::kernels::onnxruntime {
namespace {

using model::DType;

// A spec's operator is this, the domain, a colon and the operator.
constexpr char kPrefix[] = "ort:";
// Attributes of a spec that ONNX's operator does not have. Their names have a dot, which ONNX's
// never do.
constexpr char kOpset[] = "ort.opset";
// For each input the position of the first input with the same value. Present only if some value
// that is no constant is read twice.
constexpr char kFirst[] = "ort.first";
// Followed by the position of an operand.
constexpr char kContent[] = "ort.content.";      // All of it.
constexpr char kRange[] = "ort.range.";          // Least and most.
constexpr char kSubnormal[] = "ort.subnormal.";  // About how many elements: SubnormalClass.

// Operators whose time, or validity, depends on the values of small float operands (a Clip's
// bounds, a Pow's exponent). All other nodes that differ only in such values share a time.
bool DependsOnFloats(absl::string_view op) {
  constexpr std::array<absl::string_view, 7> kOperators = {
      "Clip", "ConstantOfShape", "Pad", "Pow", "Range", "Resize", "Upsample"};
  return std::ranges::find(kOperators, op) != kOperators.end();
}

bool IsQuantized(absl::string_view op) {
  return absl::StrContains(op, "Quant") || absl::StrContains(op, "QLinear") ||
         absl::StrContains(op, "Integer");
}

bool IsSmallInteger(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

// 0 for none, 1 for up to a hundredth, 2 for up to a tenth.
int64_t SubnormalClass(double share) {
  if (share <= 0) return 0;
  if (share <= 0.01) return 1;
  return share <= 0.1 ? 2 : 3;
}

double ShareOfClass(int64_t subnormal_class) {
  constexpr std::array<double, 4> kShares = {0, 0.003, 0.03, 0.3};
  return kShares[static_cast<size_t>(std::clamp<int64_t>(subnormal_class, 0, 3))];
}

// What the time depends on besides the type, as attributes of the spec.
void AddContent(absl::string_view op, size_t index, const OutputSummary& summary,
                model::AttributeMap* attributes) {
  const DType dtype = summary.type.dtype;
  if (model::IsFloat(dtype)) {
    if (summary.content.has_value() && DependsOnFloats(op)) {
      attributes->Set(absl::StrCat(kContent, index), *summary.content);
    } else if (const int64_t subnormal = SubnormalClass(summary.subnormal_share); subnormal > 0) {
      attributes->Set(absl::StrCat(kSubnormal, index), subnormal);
    }
    return;
  }
  if (IsSmallInteger(dtype)) {
    // Zero points: whether there is one matters, not which. Those of the channels are mostly equal,
    // for which quantized operators have faster kernels.
    if (!summary.content.has_value() && summary.least != summary.most) return;
    const int64_t value = summary.least == 0 && summary.most == 0 ? 0 : 1;
    attributes->Set(absl::StrCat(kRange, index), model::Ints{value, value});
    return;
  }
  if (summary.content.has_value() && !IsQuantized(op)) {
    attributes->Set(absl::StrCat(kContent, index), *summary.content);
  } else if (!IsQuantized(op) && dtype != DType::kBool) {
    attributes->Set(absl::StrCat(kRange, index), model::Ints{summary.least, summary.most});
  }
}

// For each input the first one of that name; empty if all differ. Whether equal constants are one
// value in a file says nothing of the time, so each is taken for a value of its own.
model::Ints FirstOfSame(const std::vector<std::string>& inputs,
                        const absl::flat_hash_set<std::string>& constants) {
  model::Ints first;
  bool differ = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto own = static_cast<int64_t>(i);
    const bool is_own = inputs[i].empty() || constants.contains(inputs[i]);
    first.push_back(is_own ? own : std::ranges::find(inputs, inputs[i]) - inputs.begin());
    differ = differ && first.back() == own;
  }
  return differ ? model::Ints() : first;
}

absl::StatusOr<Operand> OperandOf(const std::string& name, const onnx::RuntimeNode& node,
                                  const Summaries& values) {
  if (name.empty()) return Operand();
  const auto found = values.find(name);
  if (found != values.end() && found->second.type.is_static()) return Operand{found->second.type};
  return absl::UnimplementedError(
      absl::StrCat("'", name, "' of node '", node.name, "' is no tensor of numbers"));
}

model::Tensor RandomIntegers(const model::TensorType& type, int64_t least, int64_t most, Rng& rng) {
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  const uint64_t count = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
  for (int64_t& value : values) {
    value = static_cast<int64_t>(static_cast<uint64_t>(least) +
                                 (count == 0 ? rng.Next() : rng.Below(count)));
  }
  model::Store(type.dtype, bytes, 0, std::span<const int64_t>(values));
  return tensor;
}

model::Tensor ContentOf(const KernelSpec& spec, size_t index, Rng& rng) {
  const Operand& operand = spec.inputs[index];
  const model::Attribute* const content = spec.attributes.Find(absl::StrCat(kContent, index));
  if (content != nullptr) return std::get<model::Tensor>(*content);
  if (model::IsFloat(operand.type.dtype)) {
    const int64_t subnormal = spec.attributes.GetInt(absl::StrCat(kSubnormal, index), 0);
    return RandomFloats(operand.type, operand.constant ? kMostWeight : 1, ShareOfClass(subnormal),
                        rng);
  }
  const model::Ints otherwise = operand.type.dtype == DType::kInt8    ? model::Ints{-64, 63}
                                : operand.type.dtype == DType::kUint8 ? model::Ints{0, 127}
                                                                      : model::Ints{0, 1};
  const model::Ints range = spec.attributes.GetInts(absl::StrCat(kRange, index), otherwise);
  return RandomIntegers(operand.type, range[0], range[1], rng);
}

// The node of a spec. Its values are called by their positions.
onnx::RuntimeNode NodeOf(const KernelSpec& spec) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::StripPrefix(spec.op, kPrefix), absl::MaxSplits(':', 1));
  onnx::RuntimeNode node{.name = "node",
                         .domain = words[0],
                         .op = words[1],
                         .opset = spec.attributes.GetInt(kOpset, 1)};
  node.attributes.emplace();
  for (const auto& [name, value] : spec.attributes) {
    if (!absl::StartsWith(name, "ort.")) node.attributes->Set(name, value);
  }
  const model::Ints first = spec.attributes.GetInts(kFirst);
  const auto is_missing = [](const Operand& operand) {
    return operand.type.dtype == DType::kUndefined;
  };
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const size_t same = i < first.size() ? static_cast<size_t>(first[i]) : i;
    node.inputs.push_back(is_missing(spec.inputs[i]) ? "" : absl::StrCat("in", same));
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    node.outputs.push_back(is_missing(spec.outputs[i]) ? "" : absl::StrCat("out", i));
  }
  return node;
}

}  // namespace

absl::StatusOr<KernelSpec> SpecOfNode(const onnx::RuntimeNode& node,
                                      const onnx::RuntimeGraph& graph, const Summaries& values) {
  if (!node.attributes.has_value()) {
    return absl::UnimplementedError(absl::StrCat("node '", node.name, "' has subgraphs"));
  }
  KernelSpec spec;
  spec.op = absl::StrCat(kPrefix, node.domain, ":", node.op);
  const auto first = node.inputs.empty() ? values.end() : values.find(node.inputs.front());
  const bool has_rank = first != values.end() && first->second.type.has_rank();
  spec.attributes = onnx::WithoutDefaults(node, has_rank ? first->second.type.rank() : -1);
  spec.attributes.Set(kOpset, node.opset);
  if (model::Ints same = FirstOfSame(node.inputs, graph.initializers); !same.empty()) {
    spec.attributes.Set(kFirst, std::move(same));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(Operand operand, OperandOf(node.inputs[i], node, values));
    if (operand.type.dtype != DType::kUndefined) {
      AddContent(node.op, i, values.at(node.inputs[i]), &spec.attributes);
      operand.constant = graph.initializers.contains(node.inputs[i]);
    }
    spec.inputs.push_back(std::move(operand));
  }
  for (const std::string& name : node.outputs) {
    QUOTIENT_ASSIGN_OR_RETURN(Operand operand, OperandOf(name, node, values));
    spec.outputs.push_back(std::move(operand));
  }
  return spec;
}

absl::StatusOr<KernelSpec> SpecOfReorder(const KernelSpec& reorder) {
  const int64_t block = ChannelsInBlock();
  const model::TensorType& type = reorder.inputs[0].type;
  const bool into_blocks = reorder.inputs[0].layout == Layout::kPlain;
  if (type.rank() != 4 || type.dtype != DType::kFloat32 ||
      (into_blocks && type.dims()[1] % kChannelStep != 0)) {
    return absl::UnimplementedError(
        absl::StrCat("ONNX Runtime does not bring ", ToString(type), " into blocks"));
  }
  std::vector<int64_t> dims = type.dims();
  const int64_t channels = dims[1];
  dims[1] = (channels + block - 1) / block * block;
  const Operand plain{type}, blocked{model::StaticType(type.dtype, dims)};
  KernelSpec spec = reorder;
  spec.op =
      absl::StrCat(kPrefix, "com.microsoft.nchwc:", into_blocks ? "ReorderInput" : "ReorderOutput");
  spec.attributes.Set(kOpset, int64_t{1});
  if (!into_blocks) spec.attributes.Set("channels", channels);
  spec.inputs = {into_blocks ? plain : blocked};
  spec.outputs = {into_blocks ? blocked : plain};
  return spec;
}

bool IsNodeSpec(const KernelSpec& spec) { return absl::StartsWith(spec.op, kPrefix); }

NodeModel ModelOfNode(const KernelSpec& spec) {
  Rng rng(1);
  NodeModel made;
  const onnx::RuntimeNode node = NodeOf(spec);
  absl::flat_hash_map<std::string, onnx::NodeInput> inputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (node.inputs[i].empty() || inputs.contains(node.inputs[i])) continue;
    model::Tensor tensor = ContentOf(spec, i, rng);
    onnx::NodeInput& input = inputs[node.inputs[i]];
    input.type = spec.inputs[i].type;
    if (spec.inputs[i].constant) {
      made.constant_bytes += static_cast<int64_t>(tensor.bytes().size());
      if (tensor.bytes().size() >= onnx::kLeastDetachedBytes) {
        made.weights.emplace(node.inputs[i], tensor);
      }
      input.constant = std::move(tensor);
    } else {
      made.inputs.push_back({node.inputs[i], std::move(tensor)});
      made.operands.push_back(i);
    }
  }
  made.bytes = onnx::WriteRuntimeNode(node, inputs);
  return made;
}

}  // namespace quotient::kernels::onnxruntime
