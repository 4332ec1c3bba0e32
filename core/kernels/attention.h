#pragma once

// Attention, softmax(scale Q K^T + mask) V, as one kernel together with the Transposes around it.
// GPU libraries have such kernels, which never write the scores to memory (Dao et al.,
// "FlashAttention", 2022).

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// The operator of such kernels. No node of a graph has it; ONNX's Attention is another one. The
// inputs have the same floating-point type; the mask may be left out:
//
//   q [..., m, d], k [..., d, n], v [..., n, e], mask (spreads over [..., m, n]) -> y [..., m, e]
//
// All have the same one or two leading axes. Attributes: `scale`, and `q_perm`, `k_perm`, `v_perm`,
// `y_perm` for Transposes that are part of the kernel. The operands q, k and v are then those
// before their Transpose, and y is the result after its Transpose.
inline constexpr char kAttentionOp[] = "FusedAttention";

// The nodes of a graph that form one attention.
struct Attention {
  // The Softmax first, then the others in order. The last one computes the result.
  std::vector<model::NodeId> nodes;
  model::AttributeMap attributes;
  std::vector<model::ValueId> operands;  // q, k, v, and the mask if there is one.
  model::ValueId result;
};

// Whether `axis`, which may count from the end, is the last one. Attention's Softmax goes along it.
constexpr bool IsLastAxis(int64_t axis, int rank) { return axis == -1 || axis == rank - 1; }
// The scale of an attention whose scores are multiplied by `number`, or divided by it, by a node
// with this operator and the scores as operand `running`. Nullopt if it divides the other way
// round, or if a float32 cannot hold the scale.
std::optional<double> AttentionScale(absl::string_view op, size_t running, double number);

// Returns the only node that reads a value, if it reads the value once, nothing else needs the
// value, and neither that node nor the value's producer is part of another kernel already.
using SoleReader = std::function<std::optional<model::NodeId>(model::ValueId)>;

// Returns the attention whose Softmax is this node, if there is one.
std::optional<Attention> FindAttention(const model::Graph& graph, model::NodeId softmax,
                                       const SoleReader& sole_reader);

// Whether a kernel with these inputs is an attention without Transposes. All types must be static.
bool IsAttention(const model::TensorType& q, const model::TensorType& k, const model::TensorType& v,
                 const model::TensorType* mask);

// The memory layout of the tensors of an attention kernel, with four axes each: [batch, heads,
// rows, columns]. Strides are in elements.
struct AttentionTensors {
  struct Tensor {
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
  };
  Tensor q;                    // [b, h, m, d]
  Tensor k;                    // [b, h, n, d]: the rows are the keys.
  Tensor v;                    // [b, h, n, e]
  Tensor y;                    // [b, h, m, e]
  std::optional<Tensor> mask;  // [b or 1, h or 1, m or 1, n or 1], row-major.
};
AttentionTensors TensorsOfAttention(const KernelSpec& spec);

}  // namespace quotient::kernels
