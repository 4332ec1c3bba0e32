#pragma once

// Finds e-nodes that can run as one attention kernel (core/kernels/attention.h).

#include <vector>

#include "core/domain/tensor_egraph.h"

namespace quotient::pricing {

struct AttentionENodes {
  egraph::ENodeId scores;    // MatMul of queries and keys.
  egraph::ENodeId sum;       // Add of the mask; invalid if there is no mask.
  int mask = 0;              // Index of the child of `sum` that is the mask.
  egraph::ENodeId logits;    // What the Softmax reads: the sum, the scaled scores or the scores.
  egraph::ENodeId softmax;   // Softmax along the last axis.
  egraph::ENodeId weighted;  // MatMul of the Softmax with the values.
  double scale = 1;          // What the scores are multiplied by.
  // Transposes that compute the queries, the keys (as columns) and the values; invalid where there
  // is none.
  egraph::ENodeId transposes[3];
};

// Finds all attentions in a clean e-graph whose last product is `weighted`. Only operators are
// matched; the caller has to check the shapes.
std::vector<AttentionENodes> FindAttentions(const domain::TensorEGraph& tensors,
                                            egraph::ENodeId weighted);

}  // namespace quotient::pricing
