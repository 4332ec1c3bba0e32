#pragma once

// E-nodes that can be one attention kernel (core/kernels/attention.h).

#include <vector>

#include "core/domain/tensor_egraph.h"

namespace quotient::pricing {

struct AttentionENodes {
  egraph::ENodeId scores;    // MatMul of queries and keys
  egraph::ENodeId sum;       // Add of the mask; invalid where there is none
  int mask = 0;              // which child of `sum`
  egraph::ENodeId logits;    // what the Softmax reads: the sum, the scaled scores or the scores
  egraph::ENodeId softmax;   // along the rows
  egraph::ENodeId weighted;  // MatMul with the values
  double scale = 1;
  // Transposes that make the queries, the keys as columns, and the values; invalid where there is
  // none.
  egraph::ENodeId transposes[3];
};

// Those that end with `weighted`, by their operators alone: whether shapes fit is the caller's to
// know. Of a clean e-graph.
std::vector<AttentionENodes> FindAttentions(const domain::TensorEGraph& tensors,
                                            egraph::ENodeId weighted);

}  // namespace quotient::pricing
