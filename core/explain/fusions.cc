#include "core/explain/fusions.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace quotient::explain {
namespace {

using model::Node;
using model::NodeId;
using model::ValueId;

// A node, and a product before it: node.inputs[input] is the value of the product, or of a scale,
// shift or normalization that was taken into its kernel.
struct Pair {
  const ModelView& model;
  NodeId node;
  size_t input;
  NodeId product;

  const Node& own() const { return model.node(node); }
  ValueId value() const { return own().inputs[input]; }
  // The operand beside the value; invalid if there is none.
  ValueId other() const { return own().inputs.size() == 2 ? own().inputs[1 - input] : ValueId(); }
  const Node& before() const { return model.node(product); }
  int64_t channels() const { return model.Type(value()).dims()[1]; }
};

using Answer = std::optional<Reason>;
using Obstacle = Answer (*)(const Pair&);

// --- What may be in the way. Each function tells one thing.

Answer OtherReader(const Pair& pair) {
  const ValueId value = pair.value();
  if (pair.model.IsOutput(value)) {
    return Reason{"graph_output", absl::StrCat("the value of the ", pair.before().op,
                                               " is an output of the model as well")};
  }
  for (const NodeId reader : pair.model.Readers(value)) {
    if (reader == pair.node) continue;
    return Reason{"other_reader",
                  absl::StrCat("another node reads the value of the ", pair.before().op,
                               ", too: a ", pair.model.node(reader).op)};
  }
  return std::nullopt;
}

Answer NotConstant(const ModelView& model, NodeId id, size_t input) {
  if (model.IsConstantOperand(id, input)) return std::nullopt;
  const Node& node = model.node(id);
  return Reason{"not_constant",
                absl::StrCat("input ", input, " of the ", node.op,
                             model.IsConstant(node.inputs[input])
                                 ? " is computed from constants, by nodes that ONNX Runtime runs"
                                 : " is not constant")};
}

// Whether an input behind the first one is computed when the model runs.
Answer ParameterNotConstant(const ModelView& model, NodeId id) {
  for (size_t i = 1; i < model.node(id).inputs.size(); ++i) {
    if (const Answer reason = NotConstant(model, id, i)) return reason;
  }
  return std::nullopt;
}

Answer WeightsNotConstant(const Pair& pair) {
  return ParameterNotConstant(pair.model, pair.product);
}

Answer ParametersNotConstant(const Pair& pair) {
  return ParameterNotConstant(pair.model, pair.node);
}

Answer ConstantIsComputed(const Pair& pair) {
  return NotConstant(pair.model, pair.node, 1 - pair.input);
}

Answer FactorNotConstant(const Pair& pair) {
  if (pair.model.IsConstant(pair.other())) return std::nullopt;
  return Reason{"not_constant", "the other factor is not constant"};
}

Answer ConstantFirst(const Pair& pair) {
  if (pair.input == 0) return std::nullopt;
  return Reason{"operand_order", absl::StrCat("the constant is the first operand of the ",
                                              pair.own().op, ", and would have to be the second")};
}

// Whether the constant beside a value of images is one number for each channel.
bool IsPerChannel(const Pair& pair) {
  std::vector<int64_t> dims = pair.model.Type(pair.other()).dims();
  const int rank = pair.model.Type(pair.value()).rank();
  if (std::ssize(dims) == rank && dims[0] == 1) dims.erase(dims.begin());
  if (std::ssize(dims) != rank - 1 || dims[0] != pair.channels()) return false;
  return std::all_of(dims.begin() + 1, dims.end(), [](int64_t dim) { return dim == 1; });
}

Reason NotPerChannelReason(const Pair& pair, absl::string_view or_else) {
  std::string wanted = absl::StrCat("[", pair.channels());
  for (int i = 2; i < pair.model.Type(pair.value()).rank(); ++i) absl::StrAppend(&wanted, ",1");
  return {"constant_shape",
          absl::StrCat("the constant has the shape ", pair.model.ShapeText(pair.other()),
                       " and not ", wanted, "]", or_else)};
}

Answer NotPerChannel(const Pair& pair) {
  if (IsPerChannel(pair)) return std::nullopt;
  return NotPerChannelReason(pair, "");
}

Answer NotPerChannelNorNumber(const Pair& pair) {
  if (pair.model.Type(pair.other()).rank() == 0 || IsPerChannel(pair)) return std::nullopt;
  return NotPerChannelReason(pair, ", nor is it a number without dimensions");
}

Answer NotMulNorAdd(const Pair& pair) {
  return Reason{"operator", absl::StrCat("a Conv takes a constant that is multiplied or added, and "
                                         "this one is the operand of a ",
                                         pair.own().op)};
}

Answer NoSuchKernel(const Pair& pair) {
  return Reason{"no_kernel", absl::StrCat("ONNX Runtime has no ", pair.before().op, " with a ",
                                          pair.own().op, " behind it")};
}

Answer NoFactorKernel(const Pair&) {
  return Reason{
      "no_kernel",
      "ONNX Runtime has no Conv that multiplies its result by what another node computes"};
}

Answer BoundsNotConstant(const Pair& pair) {
  return pair.own().op == "Clip" ? ParametersNotConstant(pair) : std::nullopt;
}

Answer SummandOfOtherShape(const Pair& pair) {
  if (pair.model.Type(pair.other()) == pair.model.Type(pair.value())) return std::nullopt;
  return Reason{"operand_shape",
                absl::StrCat("a Conv adds what has the shape of its result, ",
                             pair.model.ShapeText(pair.value()), ", and the other summand has ",
                             pair.model.ShapeText(pair.other()))};
}

Answer ConvNotBlocked(const Pair& pair) {
  const std::optional<size_t> kernel = pair.model.KernelOf(pair.product);
  if (!kernel.has_value() || IsBlocked(pair.model.Spec(*kernel))) return std::nullopt;
  return Reason{"layout", "only a Conv in the blocked layout takes it"};
}

Answer OutputOfModel(const Pair& pair) {
  if (!pair.model.IsOutput(pair.own().outputs[0])) return std::nullopt;
  return Reason{"graph_output", "its value is an output of the model"};
}

Answer SummandNotBlocked(const Pair& pair) {
  const NodeId producer = pair.model.Producer(pair.other());
  const std::optional<size_t> kernel =
      producer.valid() ? pair.model.KernelOf(producer) : std::nullopt;
  if (kernel.has_value() && IsBlocked(pair.model.Spec(*kernel))) return std::nullopt;
  return Reason{"layout", "the other summand is not in the blocked layout of the Conv"};
}

Answer ShapeNotKnown(const Pair& pair) {
  const ValueId id = pair.before().inputs[0];
  if (pair.model.Type(id).rank() == 2 || pair.model.OpenType(id).is_static()) return std::nullopt;
  return Reason{"open_shape",
                absl::StrCat("the model leaves dimensions of what the MatMul reads open, ",
                             ToString(pair.model.OpenType(id)),
                             ", and only a product of matrices may have those")};
}

Answer WeightsNoMatrix(const Pair& pair) {
  if (pair.model.Type(pair.before().inputs[1]).rank() == 2) return std::nullopt;
  return Reason{"weights_shape",
                absl::StrCat("the second factor of the MatMul has the shape ",
                             pair.model.ShapeText(pair.before().inputs[1]), " and is no matrix")};
}

// The bias of a product of matrices may be anything but a single number; else it is a vector.
Answer NoBias(const Pair& pair) {
  const model::TensorType& bias = pair.model.Type(pair.other());
  if (pair.model.Type(pair.value()).rank() == 2 ? bias.rank() >= 1 && bias.elements() > 1
                                                : bias.rank() == 1 && bias.elements() > 1) {
    return std::nullopt;
  }
  return Reason{"constant_shape",
                absl::StrCat("the summand has the shape ", pair.model.ShapeText(pair.other()),
                             ", and the bias of a Gemm would have [",
                             pair.model.Type(pair.value()).dims().back(), "]")};
}

Answer NotOneNumber(const Pair& pair) {
  if (pair.model.Type(pair.other()).elements() == 1) return std::nullopt;
  return Reason{"constant_shape",
                absl::StrCat("the factor has the shape ", pair.model.ShapeText(pair.other()),
                             " and is not a single number")};
}

Answer NoBiasBefore(const Pair&) {
  return Reason{"no_bias", "only a product with a bias, a Gemm, takes an activation"};
}

Answer ReshapedBehind(const Pair& pair) {
  if (pair.model.Type(pair.value()).rank() == 2) return std::nullopt;
  return Reason{"rank",
                absl::StrCat("the product has the shape ", pair.model.ShapeText(pair.value()),
                             ", so a Reshape stands between the Gemm and its reader")};
}

// --- The table.

using Ops = std::span<const absl::string_view>;

enum class Beside { kAnything, kConstant, kActivation };

// ONNX Runtime makes one kernel of a product and a node behind it, unless one of the obstacles is
// in the way. The first one is told.
struct Fusion {
  absl::string_view kernel;  // The main operator of the kernel of the product.
  Ops nodes;
  Beside beside;  // What the other operand is.
  std::vector<Obstacle> obstacles;
};

constexpr absl::string_view kMul[] = {"Mul"}, kAdd[] = {"Add"}, kSubDiv[] = {"Sub", "Div"},
                            kMulDiv[] = {"Mul", "Div"}, kNormalization[] = {"BatchNormalization"};
constexpr absl::string_view kOfConv[] = {"Clip", "HardSigmoid", "LeakyRelu",
                                         "Relu", "Sigmoid",     "Tanh"};
constexpr absl::string_view kHardSwish[] = {"HardSwish"};
constexpr absl::string_view kNotOfConv[] = {
    "Celu",  "Elu",  "Erf",      "Gelu",     "Mish",
    "PRelu", "Selu", "Softplus", "Softsign", "ThresholdedRelu"};
constexpr absl::string_view kOfGemm[] = {"Elu",  "HardSigmoid", "LeakyRelu", "Relu",
                                         "Selu", "Sigmoid",     "Softplus",  "Tanh"};
constexpr absl::string_view kNotOfGemm[] = {"Erf", "Gelu", "HardSwish"};
constexpr absl::string_view kOfConvTranspose[] = {"LeakyRelu", "Relu", "Sigmoid", "Tanh"};

const std::vector<Fusion>& Fusions() {
  static const auto& fusions = *new std::vector<Fusion>{
      {"Conv",
       kMul,
       Beside::kConstant,
       {WeightsNotConstant, ConstantIsComputed, ConstantFirst, NotPerChannelNorNumber,
        OtherReader}},
      {"Conv",
       kAdd,
       Beside::kConstant,
       {WeightsNotConstant, ConstantIsComputed, ConstantFirst, NotPerChannel, OtherReader}},
      {"Conv", kSubDiv, Beside::kConstant, {NotMulNorAdd}},
      {"Conv",
       kNormalization,
       Beside::kAnything,
       {WeightsNotConstant, ParametersNotConstant, OtherReader}},
      {"Conv", kOfConv, Beside::kAnything, {BoundsNotConstant, OtherReader}},
      {"Conv", kHardSwish, Beside::kAnything, {ConvNotBlocked, OutputOfModel}},
      {"Conv", kNotOfConv, Beside::kAnything, {NoSuchKernel}},
      {"Conv",
       kAdd,
       Beside::kActivation,
       {SummandOfOtherShape, ConvNotBlocked, SummandNotBlocked, OtherReader}},
      {"Conv", kMul, Beside::kActivation, {NoFactorKernel}},
      {"ConvTranspose", kOfConvTranspose, Beside::kAnything, {NoSuchKernel}},
      {"MatMul", kAdd, Beside::kAnything, {WeightsNoMatrix, NoBias, ShapeNotKnown, OtherReader}},
      {"MatMul", kMulDiv, Beside::kAnything, {FactorNotConstant, NotOneNumber, OtherReader}},
      {"MatMul", kOfGemm, Beside::kAnything, {NoBiasBefore}},
      {"Gemm", kOfGemm, Beside::kAnything, {ReshapedBehind, OtherReader}},
      {"Gemm", kNotOfGemm, Beside::kAnything, {NoSuchKernel}},
  };
  return fusions;
}

bool IsIn(absl::string_view op, Ops ops) { return std::ranges::find(ops, op) != ops.end(); }

bool IsBeside(const Pair& pair, Beside beside) {
  if (beside == Beside::kAnything) return true;
  return pair.other().valid() &&
         pair.model.IsConstant(pair.other()) == (beside == Beside::kConstant);
}

// The product whose kernel computes this value, if nothing but scales, shifts and normalizations
// are between them.
NodeId ProductOf(const ModelView& model, ValueId value) {
  NodeId id = model.Producer(value);
  if (!id.valid()) return id;
  const std::optional<size_t> kernel = model.KernelOf(id);
  while (id.valid() && model.KernelOf(id) == kernel) {
    const Node& node = model.node(id);
    if (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MatMul" ||
        node.op == "Gemm") {
      return id;
    }
    if (node.op != "Mul" && node.op != "Add" && node.op != "BatchNormalization") break;
    const NodeId first = model.Producer(node.inputs[0]);
    const bool is_of_kernel = first.valid() && model.KernelOf(first) == kernel;
    id = is_of_kernel || node.inputs.size() < 2 ? first : model.Producer(node.inputs[1]);
  }
  return NodeId();
}

std::optional<Finding> BehindProduct(const Pair& pair) {
  const std::optional<size_t> kernel = pair.model.KernelOf(pair.product);
  if (!kernel.has_value()) return std::nullopt;
  const absl::string_view op = MainOperator(OperatorOf(pair.model.Spec(*kernel)));
  for (const Fusion& fusion : Fusions()) {
    if (fusion.kernel != op || !IsIn(pair.own().op, fusion.nodes)) continue;
    if (!IsBeside(pair, fusion.beside)) continue;
    for (const Obstacle obstacle : fusion.obstacles) {
      Answer reason = obstacle(pair);
      if (reason.has_value()) {
        return Finding{absl::StrCat(pair.own().op, " behind ", pair.before().op), *reason};
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// A scale, shift or normalization in front of a Conv that could take it into its weights.
std::optional<Finding> InFrontOfConv(const ModelView& model, NodeId id) {
  const Node& node = model.node(id);
  const bool scales = node.op == "Mul" || node.op == "Add";
  if (!scales && node.op != "BatchNormalization") return std::nullopt;
  if (scales && !model.IsConstant(node.inputs[0]) && !model.IsConstant(node.inputs[1])) {
    return std::nullopt;
  }
  const NodeId reader = model.OnlyReader(node.outputs[0]);
  if (!reader.valid() || model.node(reader).op != "Conv") return std::nullopt;
  return Finding{absl::StrCat(node.op, " in front of Conv"),
                 {"in_front",
                  "ONNX Runtime takes such a node into the weights of a Conv only "
                  "behind it"}};
}

// A Transpose in front of a MatMul, which takes it only if it exchanges the last two dimensions.
std::optional<Finding> InFrontOfMatMul(const ModelView& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.op != "Transpose") return std::nullopt;
  const NodeId reader = model.OnlyReader(node.outputs[0]);
  if (!reader.valid() || model.node(reader).op != "MatMul") return std::nullopt;
  const model::Ints perm = node.attributes.GetInts("perm", {});
  model::Ints swapped(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) swapped[i] = static_cast<int64_t>(i);
  if (perm.size() >= 2) std::swap(swapped[perm.size() - 1], swapped[perm.size() - 2]);
  if (perm == swapped) return std::nullopt;
  return Finding{"Transpose in front of MatMul",
                 {"axes",
                  "a MatMul takes a Transpose that exchanges the last two dimensions and "
                  "leaves the others"}};
}

}  // namespace

std::optional<Finding> WhyNotFused(const ModelView& model, NodeId id) {
  if (!model.StandsAlone(id)) return std::nullopt;
  const Node& node = model.node(id);
  for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i) {
    const NodeId product = ProductOf(model, node.inputs[i]);
    if (!product.valid() || product == id) continue;
    std::optional<Finding> finding = BehindProduct({model, id, i, product});
    if (finding.has_value()) return finding;
  }
  if (std::optional<Finding> finding = InFrontOfConv(model, id)) return finding;
  return InFrontOfMatMul(model, id);
}

}  // namespace quotient::explain
