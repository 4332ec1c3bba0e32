#pragma once

// Constant folding: computes what depends only on constants once, by the reference evaluator.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::eval {

class FoldCache;

struct FoldLimits {
  // A result is stored only if it has at most this many bytes, or at most as many as the model's
  // constants that it comes from, so that folding does not inflate the model. The default is enough
  // for the masks that exporters compute. The sum of stored results is limited by a multiple of the
  // model's constants, too.
  int64_t max_result_bytes = int64_t{1} << 20;
  // Results that are too large to be stored are kept during folding, because smaller ones may be
  // computed from them. This limits their total size in bytes.
  int64_t max_scratch_bytes = int64_t{1} << 28;
  // Maximum number of multiply-adds spent on one node.
  int64_t max_operations = int64_t{1} << 33;
  int threads = 1;
  // Whether nodes that a model keeps (ops::OpDef::stays_in_model) are folded, too: for models that
  // are only run, as a runtime folds them when it loads a model.
  bool fold_what_stays = false;
  // Borrowed. It pays where graphs have much in common. Null if there is none.
  FoldCache* cache = nullptr;
};

// The approximate number of multiply-adds, or elements read, of a known operator. All types must be
// static, or null for an operand left out.
int64_t Operations(absl::string_view op, const model::AttributeMap& attributes,
                   std::span<const model::TensorType* const> inputs,
                   std::span<const model::TensorType* const> outputs);

// Replaces the nodes of `graph` that depend only on constants by constants, forwards Identity and
// inference Dropout, evaluates shape arithmetic whose elements are known, re-infers types, puts
// nodes into canonical form and removes dead nodes (ids change). One pass in topological order is
// enough. Graph outputs keep their names. A node that cannot be evaluated stays. Fails with errors
// of type inference, or with CANCELLED or RUN_BUDGET by `stop`.
absl::Status FoldConstants(model::Graph& graph, const FoldLimits& limits = {},
                           const StopCondition& stop = {});

}  // namespace quotient::eval
