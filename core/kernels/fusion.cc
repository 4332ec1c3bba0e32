#include "core/kernels/fusion.h"

#include <algorithm>

#include "core/kernels/storage.h"

namespace quotient::kernels {
namespace {

enum class Arity { kUnary, kBinary, kNormalization };

// An element-wise operator of the fused kernels.
struct ChainOp {
  const char* name;
  Arity arity;
  bool post_op;           // Can be in a contraction's epilogue with the running value on the left.
  bool post_op_reversed;  // The same with the running value on the right.
};

constexpr ChainOp kChainOps[] = {
    {"Relu", Arity::kUnary, true, false},
    {"LeakyRelu", Arity::kUnary, true, false},
    {"Sigmoid", Arity::kUnary, true, false},
    {"Tanh", Arity::kUnary, true, false},
    {"Clip", Arity::kUnary, true, false},
    {"HardSigmoid", Arity::kUnary, true, false},
    {"HardSwish", Arity::kUnary, true, false},
    {"Gelu", Arity::kUnary, true, false},
    {"Neg", Arity::kUnary, true, false},
    {"Abs", Arity::kUnary, true, false},
    {"Sqrt", Arity::kUnary, true, false},
    {"Exp", Arity::kUnary, true, false},
    {"Reciprocal", Arity::kUnary, false, false},
    {"Log", Arity::kUnary, false, false},
    {"Erf", Arity::kUnary, false, false},
    {"Sin", Arity::kUnary, false, false},
    {"Cos", Arity::kUnary, false, false},
    {"Floor", Arity::kUnary, false, false},
    {"Ceil", Arity::kUnary, false, false},
    {"Elu", Arity::kUnary, true, false},
    {"Mish", Arity::kUnary, true, false},
    {"Softplus", Arity::kUnary, true, false},
    {"Swish", Arity::kUnary, true, false},
    {"Round", Arity::kUnary, false, false},
    {"Sign", Arity::kUnary, false, false},
    {"Tan", Arity::kUnary, false, false},
    {"Asin", Arity::kUnary, false, false},
    {"Acos", Arity::kUnary, false, false},
    {"Atan", Arity::kUnary, false, false},
    {"Sinh", Arity::kUnary, false, false},
    {"Cosh", Arity::kUnary, false, false},
    {"Asinh", Arity::kUnary, false, false},
    {"Acosh", Arity::kUnary, false, false},
    {"Atanh", Arity::kUnary, false, false},
    {"Softsign", Arity::kUnary, false, false},
    {"Celu", Arity::kUnary, false, false},
    {"Selu", Arity::kUnary, false, false},
    {"ThresholdedRelu", Arity::kUnary, false, false},
    {"Add", Arity::kBinary, true, true},
    {"Mul", Arity::kBinary, true, true},
    {"Max", Arity::kBinary, true, true},
    {"Min", Arity::kBinary, true, true},
    {"Sub", Arity::kBinary, true, true},
    {"Div", Arity::kBinary, true, false},
    {"Pow", Arity::kBinary, false, false},
    {"BatchNormalization", Arity::kNormalization, true, false},
};

// Those of a BatchNormalization. Absent inputs at the end count, too.
constexpr size_t kMostChainInputs = 5;

const ChainOp* FindChainOp(absl::string_view op) {
  for (const ChainOp& row : kChainOps) {
    if (op == row.name) return &row;
  }
  return nullptr;
}

bool InferenceBatchNorm(const ElementwiseNode& node) {
  if (node.inputs.size() != 5 || node.running != 0 || node.output.rank() < 2 ||
      node.attributes.GetInt("training_mode", 0) != 0) {
    return false;
  }
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [](const Operand& operand) { return operand.constant; });
}

bool ArityFits(const ChainOp& op, const ElementwiseNode& node) {
  switch (op.arity) {
    case Arity::kUnary:
      return node.inputs.size() == 1;
    case Arity::kBinary:
      return node.inputs.size() == 2;
    case Arity::kNormalization:
      return InferenceBatchNorm(node);
  }
  return false;
}

bool FitsPostOp(absl::string_view main_op, const ChainOp& op, const ElementwiseNode& node) {
  const int rank = node.output.rank();
  if (rank < 2) return false;
  if (node.running == 0 ? !op.post_op : !op.post_op_reversed) return false;
  const int channel_axis = ChannelAxis(main_op, rank);
  // A normalization's channels are axis 1, whatever operator precedes it.
  if (op.arity == Arity::kNormalization) return channel_axis == 1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (static_cast<int>(i) == node.running) continue;
    if (SpreadOf(node.inputs[i].type, node.output, channel_axis) == Spread::kOther) return false;
  }
  return true;
}

}  // namespace

bool IsContraction(absl::string_view op) {
  return op == "Conv" || op == "ConvTranspose" || op == "MatMul" || op == "Gemm";
}

int ChannelAxis(absl::string_view main_op, int rank) {
  return main_op == "Conv" || main_op == "ConvTranspose" ? 1 : rank - 1;
}

Spread SpreadOf(const model::TensorType& operand, const model::TensorType& running,
                int channel_axis) {
  if (operand.elements() == 1 && operand.rank() <= running.rank()) return Spread::kScalar;
  const std::vector<int64_t> dims = operand.dims();
  const std::vector<int64_t> full = running.dims();
  if (dims == full) return Spread::kFull;
  const int lead = running.rank() - operand.rank();
  if (lead < 0) return Spread::kOther;
  for (int axis = lead; axis < running.rank(); ++axis) {
    const int64_t expected = axis == channel_axis ? full[axis] : 1;
    if (dims[axis - lead] != expected) return Spread::kOther;
  }
  return channel_axis >= lead ? Spread::kChannel : Spread::kOther;
}

void NoteExponent(absl::string_view op, const model::Tensor* exponent,
                  model::AttributeMap* attributes) {
  if (op != "Pow" || exponent == nullptr || exponent->elements() != 1) return;
  const double value = exponent->GetDouble(0);
  if (value == 2 || value == 3 || value == 0.5) attributes->Set(kExponentAttribute, value);
}

bool MayBeChainNode(absl::string_view op, size_t num_inputs) {
  return num_inputs <= kMostChainInputs && FindChainOp(op) != nullptr;
}

bool IsChainNode(const ElementwiseNode& node) {
  const ChainOp* op = FindChainOp(node.op);
  if (op == nullptr || !ArityFits(*op, node)) return false;
  if (!StoredAsFloat(node.output.dtype)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [](const Operand& operand) { return StoredAsFloat(operand.type.dtype); });
}

bool FusesAsEpilogue(absl::string_view main_op, const ElementwiseNode& node) {
  if (!IsChainNode(node)) return false;
  if (node.inputs[node.running].type != node.output) return false;
  const ChainOp& op = *FindChainOp(node.op);
  return !IsContraction(main_op) || FitsPostOp(main_op, op, node);
}

}  // namespace quotient::kernels
