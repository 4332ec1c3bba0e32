#pragma once

// The reference evaluator, which defines what a graph means. It uses plain loops with double
// accumulation, no kernel library, and none of the optimizer's code.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"

namespace quotient::eval {

// Values by id.
using ValueMap = std::map<model::ValueId, model::Tensor>;

// Called with the outputs of a node before another node reads them. It may change elements of the
// outputs but not their types. `inputs` is parallel to the node's inputs and null where one is left
// out.
using NodeHook =
    std::function<void(model::NodeId node, std::span<const model::Tensor* const> inputs,
                       std::vector<model::Tensor>& outputs)>;

// Evaluates what the values in `wanted` depend on, and returns these values. Types must be static
// where they are computed. `inputs` must have every graph input that is needed and has no default,
// and every output of an opaque node that is needed. A value given there is not computed. Values
// are freed after their last use. `hook` may be null. Errors: INVALID_ARGUMENT for a missing input
// or a type that does not match or is not static; errors of operators, with the node's name;
// CANCELLED or RUN_BUDGET by `stop`.
absl::StatusOr<ValueMap> Evaluate(const model::Graph& graph, const ValueMap& inputs,
                                  const std::vector<model::ValueId>& wanted, int threads,
                                  const StopCondition& stop = {}, const NodeHook& hook = nullptr);

}  // namespace quotient::eval
