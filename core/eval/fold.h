#pragma once

// Constant folding: what depends on constants alone is computed once, by the reference evaluator.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::eval {

struct FoldLimits {
  // A result larger than this many bytes is not stored unless it is no larger than the model's
  // constants that it comes from (folding must not inflate a model). Enough for the masks that
  // exporters compute. All that is stored together is bounded by a multiple of the model's
  // constants.
  int64_t max_result_bytes = int64_t{1} << 20;
  // Results that are not stored are still kept meanwhile, in case that what is computed from them
  // can be; this many bytes of them at most.
  int64_t max_scratch_bytes = int64_t{1} << 28;
  // Multiply-adds spent at most on one node.
  int64_t max_operations = int64_t{1} << 33;
  int threads = 1;
};

// About how many multiply-adds (or elements looked at) an operator that is known takes. All types
// are static; null where an operand is left out.
int64_t Operations(absl::string_view op, const model::AttributeMap& attributes,
                   std::span<const model::TensorType* const> inputs,
                   std::span<const model::TensorType* const> outputs);

// Replaces nodes of `graph` that depend on constants alone by constants, forwards Identity and
// inference Dropout, evaluates shape arithmetic whose elements are known, re-infers types and puts
// nodes into canonical form; then drops dead nodes (ids change). One pass in topological order:
// what is known only flows forward. Names of graph outputs survive. A node that cannot be evaluated
// stays. Errors: those of type inference, CANCELLED or RUN_BUDGET by `stop`.
absl::Status FoldConstants(model::Graph& graph, const FoldLimits& limits = {},
                           const StopCondition& stop = {});

}  // namespace quotient::eval
