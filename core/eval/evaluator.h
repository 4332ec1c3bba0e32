#pragma once

// The reference evaluator: what a graph means. Plain loops with double accumulation, no kernel
// library, none of the optimizer's code.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"

namespace quotient::eval {

// Values by id; those not computed are missing.
using ValueMap = std::map<model::ValueId, model::Tensor>;

// Called with what a node computed before another node reads it. It may change the elements of the
// outputs, never their types. `inputs` is parallel to the node's inputs, null where one is left
// out.
using NodeHook =
    std::function<void(model::NodeId node, std::span<const model::Tensor* const> inputs,
                       std::vector<model::Tensor>& outputs)>;

// Evaluates the live nodes of a graph whose types are static where they are computed. `inputs`
// holds every graph input that is needed (defaults fill in) and every output of an opaque node that
// is needed: the graph is cut there. Returns the values in `wanted`. Memory: values are dropped
// after their last use. Errors: INVALID_ARGUMENT for a missing input, a type that does not fit or
// that is not static; those of the operators with the node's name; CANCELLED or RUN_BUDGET by
// `stop`. `hook` may be null.
absl::StatusOr<ValueMap> Evaluate(const model::Graph& graph, const ValueMap& inputs,
                                  const std::vector<model::ValueId>& wanted, int threads,
                                  const StopCondition& stop = {}, const NodeHook& hook = nullptr);

}  // namespace quotient::eval
