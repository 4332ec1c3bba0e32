#pragma once

// Explain: what a runtime made of a model, what it did not and why, and which of its kernels are
// far from what the device can do.

#include <optional>
#include <span>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/report/explanation.h"
#include "core/report/report.h"

namespace quotient::explain {

// A model and the kernels that the runtime made of its file. All is borrowed.
struct RunModel {
  const model::Graph& graph;  // Static.
  const model::Graph& open;   // The same with its symbols; equal values have equal names.
  const cost::GraphCost& cost;
};

// A graph that Quotient found, as it differs from the original.
struct TriedGraph {
  report::Gains gains;
  std::vector<report::JournalEntry> journal;
  bool is_result = false;
};

// `result`: null if the original itself is returned. `peak`: nullopt if it is not known; nothing is
// compared with it then. Takes linear time besides sorting. Deterministic.
report::Explanation Explain(const RunModel& original, const RunModel* result,
                            std::span<const TriedGraph> tried,
                            const std::optional<report::Peak>& peak);

}  // namespace quotient::explain
