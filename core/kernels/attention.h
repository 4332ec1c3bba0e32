#pragma once

// Attention, softmax(scale Q K^T + mask) V, as one kernel with the Transposes around it: libraries
// of GPUs have kernels that never write the scores to memory (Dao et al., "FlashAttention", 2022).

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// The operator of such kernels; no node of the graph. Inputs, all of one floating-point type, the
// mask left out where there is none:
//
//   q [..., m, d], k [..., d, n], v [..., n, e], mask (spreads over [..., m, n]) -> y [..., m, e]
//
// with the same one or two axes in front. Attributes: `scale`, and `q_perm`, `k_perm`, `v_perm`,
// `y_perm` of Transposes that are part of the kernel: q, k and v are operands from in front of
// them, y from behind.
inline constexpr char kAttentionOp[] = "Attention";

// Nodes of a graph that are one attention.
struct Attention {
  // The Softmax, which they are known by, then the others in order: the last one makes the result.
  std::vector<model::NodeId> nodes;
  model::AttributeMap attributes;
  std::vector<model::ValueId> operands;  // q, k, v and the mask if there is one
  model::ValueId result;
};

// The node that reads a value, if it does so once, nobody else needs the value, and neither it nor
// the node that makes the value is part of another kernel already.
using SoleReader = std::function<std::optional<model::NodeId>(model::ValueId)>;

// The attention that a node is the Softmax of.
std::optional<Attention> FindAttention(const model::Graph& graph, model::NodeId softmax,
                                       const SoleReader& sole_reader);

// Whether a kernel with those inputs is an attention, without Transposes. All types static.
bool IsAttention(const model::TensorType& q, const model::TensorType& k, const model::TensorType& v,
                 const model::TensorType* mask);

// How the tensors of an attention kernel lie in memory: of four axes each, [batch, heads, rows,
// columns], strides in elements.
struct AttentionTensors {
  struct Tensor {
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
  };
  Tensor q;                    // [b, h, m, d]
  Tensor k;                    // [b, h, n, d]: the rows are the keys
  Tensor v;                    // [b, h, n, e]
  Tensor y;                    // [b, h, m, e]
  std::optional<Tensor> mask;  // [b or 1, h or 1, m or 1, n or 1], row-major
};
AttentionTensors TensorsOfAttention(const KernelSpec& spec);

}  // namespace quotient::kernels
