#include "core/kernels/fusion.h"

#include <algorithm>

#include "core/kernels/storage.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

using ops::Fusion;
using ops::OpClass;

// Those of a BatchNormalization. Absent inputs at the end count, too.
constexpr size_t kMostChainInputs = 5;

// The row of an operator that fused kernels know; null for others.
const ops::OpDef* FindChainOp(absl::string_view op) {
  const ops::OpDef* row = ops::FindOp(op);
  return row != nullptr && row->fusion != Fusion::kNone ? row : nullptr;
}

bool InferenceBatchNorm(const ElementwiseNode& node) {
  if (node.inputs.size() != 5 || node.running != 0 || node.output.rank() < 2 ||
      node.attributes.GetInt("training_mode", 0) != 0) {
    return false;
  }
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [](const Operand& operand) { return operand.constant; });
}

bool InputsFit(const ops::OpDef& op, const ElementwiseNode& node) {
  switch (op.op_class) {
    case OpClass::kUnary:
      return node.inputs.size() == 1;
    case OpClass::kBinary:
      return node.inputs.size() == 2;
    case OpClass::kNormalization:
      return InferenceBatchNorm(node);
    default:
      return false;
  }
}

bool FusesBehind(const ops::OpDef& op, int running) {
  return op.fusion == Fusion::kBehindEither || (op.fusion == Fusion::kBehind && running == 0);
}

bool FitsPostOp(absl::string_view main_op, const ops::OpDef& op, const ElementwiseNode& node) {
  const int rank = node.output.rank();
  if (rank < 2 || !FusesBehind(op, node.running)) return false;
  const int channel_axis = ChannelAxis(main_op, rank);
  // A normalization's channels are axis 1, whatever operator precedes it.
  if (op.op_class == OpClass::kNormalization) return channel_axis == 1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (static_cast<int>(i) == node.running) continue;
    if (SpreadOf(node.inputs[i].type, node.output, channel_axis) == Spread::kOther) return false;
  }
  return true;
}

}  // namespace

bool IsContraction(absl::string_view op) {
  const ops::OpDef* row = ops::FindOp(op);
  return row != nullptr && row->op_class == OpClass::kContraction;
}

int ChannelAxis(absl::string_view main_op, int rank) {
  const ops::OpDef* row = ops::FindOp(main_op);
  return row != nullptr && row->layout == ops::LayoutRole::kChannelsLast ? 1 : rank - 1;
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
  const ops::OpDef* op = FindChainOp(node.op);
  if (op == nullptr || !InputsFit(*op, node)) return false;
  if (!StoredAsFloat(node.output.dtype)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [](const Operand& operand) { return StoredAsFloat(operand.type.dtype); });
}

bool FusesAsEpilogue(absl::string_view main_op, const ElementwiseNode& node) {
  if (!IsChainNode(node)) return false;
  if (node.inputs[node.running].type != node.output) return false;
  return !IsContraction(main_op) || FitsPostOp(main_op, *FindChainOp(node.op), node);
}

}  // namespace quotient::kernels
