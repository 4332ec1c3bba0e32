#pragma once

// What rules promise (core/rules/README.md), and what runtimes agree on. Where a graph with these
// inputs is outside of that, a difference says nothing about a rule.

#include "absl/status/statusor.h"
#include "core/eval/evaluator.h"
#include "core/model/graph.h"

namespace quotient::prove {

// Whether an operand of a contraction is infinite or NaN. The graph can be evaluated.
absl::StatusOr<bool> BlursInfinities(const model::Graph& graph, const eval::ValueMap& inputs);

// Whether a node makes infinities of operands that are all finite, one of them near the largest
// number of float32 or the root of it: masks, which a normalization squares. The graph can be
// evaluated.
absl::StatusOr<bool> Overflows(const model::Graph& graph, const eval::ValueMap& inputs);

// Whether all runtimes compute the same (ops::FoldNode): not so for a product of no elements,
// which ONNX Runtime leaves as it finds it in memory.
bool IsCertain(const model::Graph& graph, const eval::ValueMap& inputs);

// Whether rules promise what becomes of wide inputs (rules::Values::kWide).
bool IsPromised(const model::Graph& graph, const eval::ValueMap& wide);

}  // namespace quotient::prove
