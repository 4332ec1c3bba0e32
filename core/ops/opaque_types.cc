#include "core/ops/opaque_types.h"

#include "absl/strings/match.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::Node;
using model::Shape;
using model::TensorType;

// The serialized node is not decoded here. That it does not mention an attribute is certain all the
// same.
bool MayHaveAttribute(const Node& node, absl::string_view name) {
  return absl::StrContains(node.opaque->proto, name);
}

// Inputs: x, scale, zero point. The element type is the zero point's or the scale's.
TensorType QuantizedType(const Node& node, std::span<const InferInput> inputs, size_t like) {
  TensorType type;
  if (const TensorType* x = InputAt(inputs, 0).type) type.shape = x->shape;
  const TensorType* of = InputAt(inputs, like).type;
  if (of != nullptr && !MayHaveAttribute(node, "output_dtype")) type.dtype = of->dtype;
  return type;
}

// X[steps, batch, input], W, R[directions, gates * hidden, hidden] ->
// Y[steps, directions, batch, hidden], and the last states [directions, batch, hidden].
std::vector<TensorType> RecurrentTypes(const Node& node, std::span<const InferInput> inputs) {
  std::vector<TensorType> types(node.outputs.size());
  const TensorType* x = InputAt(inputs, 0).type;
  const TensorType* r = InputAt(inputs, 2).type;
  if (x == nullptr || r == nullptr || !x->has_rank() || !r->has_rank() || x->rank() != 3 ||
      r->rank() != 3 || MayHaveAttribute(node, "layout")) {
    return types;
  }
  const Dim &steps = x->dim(0), &batch = x->dim(1), &directions = r->dim(0), &hidden = r->dim(2);
  for (size_t i = 0; i < types.size(); ++i) {
    types[i] = i == 0 ? TensorType(x->dtype, Shape{steps, directions, batch, hidden})
                      : TensorType(x->dtype, Shape{directions, batch, hidden});
  }
  return types;
}

}  // namespace

std::vector<TensorType> OpaqueOutputTypes(const Node& node, std::span<const InferInput> inputs) {
  const std::string& op = node.opaque->op;
  std::vector<TensorType> types(node.outputs.size());
  if (op == "LSTM" || op == "GRU" || op == "RNN") return RecurrentTypes(node, inputs);
  if (op == "QuantizeLinear" && !types.empty()) types[0] = QuantizedType(node, inputs, 2);
  if (op == "DequantizeLinear" && !types.empty()) types[0] = QuantizedType(node, inputs, 1);
  return types;
}

}  // namespace quotient::ops
