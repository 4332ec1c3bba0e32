#pragma once

// From a model to graphs worth checking: grow the e-graph, choose, measure what was chosen, choose
// again.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/domain/tensor_egraph.h"
#include "core/model/graph.h"
#include "core/optimize/options.h"
#include "core/report/report.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

// A graph that extraction chose.
struct Candidate {
  model::Graph graph;  // symbols kept, constants folded
  double cost_us = 0;  // by the e-graph's costs
  std::vector<report::JournalEntry> journal;
};

// What a search leads to.
struct Candidates {
  std::vector<Candidate> found;  // different graphs, cheapest first; perhaps none
  report::SearchFigures figures;
  std::string checkpoint_refused;  // why the one that there was is of no use
};

// The default of SearchSettings::alternatives.
inline constexpr int kMostAlternatives = 2;

// What the search may use, fixed before it starts.
struct SearchSettings {
  const Clock& clock;  // Tells how much of the budget is spent. Borrowed.
  int threads = 1;
  int max_opset = 0;                                               // no rewrite may need more
  int constant_footprint_log2 = 0;                                 // of the model
  std::span<const rules::Family> families = rules::AllFamilies();  // what may be rewritten
  // Of graphs with different kernels that are predicted to be about as good as the best, so many
  // are candidates where costs are measured, the best itself included: what kernels do to each
  // other only whole graphs tell. Each takes memory, and time to check and to tell from the others:
  // with three, models that were done in one second took three.
  int alternatives = kMostAlternatives;
  // Of growing the e-graph, which takes long; null: none. The context is what has to be the same
  // for one to be of use, apart from the model: the version, the options.
  CheckpointSlot* checkpoint = nullptr;
  std::string checkpoint_context;
};
// What Search makes at most.
int MostCandidates(int alternatives);

// How far a search is.
struct SearchProgress {
  double seconds = 0;  // with those before an interruption
  int64_t enodes = 0;  // size of the e-graph
  // The best cost so far, as a share of the original's; 0: not known. Both by the costs of e-nodes,
  // which know less of fusion than the prediction of a whole graph: only their ratio says
  // something. In the end that of SearchFigures::best_costs.
  double best_share = 0;
};
// Called a few times a second.
using SearchHook = std::function<void(const SearchProgress& progress)>;

// The candidate that a search without any rule leads to: the same nodes, as they are written after
// they were in an e-graph, with constants folded. `measured` is `graph` with every symbol bound
// (equal ids).
absl::StatusOr<Candidate> Unrewritten(const model::Graph& graph, const model::Graph& measured,
                                      int threads, const StopCondition& stop);

// `measured` is `graph` with every symbol bound (equal ids). Blocking; ends at
// options.budget_seconds or `stop`; that it was stopped is no error. OPTION_INVALID for an unknown
// rule name.
absl::StatusOr<Candidates> Search(const model::Graph& graph, const model::Graph& measured,
                                  const Options& options, const SearchSettings& settings,
                                  cost::CostModel& costs, const StopCondition& stop,
                                  const SearchHook& hook);

}  // namespace quotient::optimize
