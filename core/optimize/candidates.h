#pragma once

// Search: finds graphs that are worth checking. It grows the e-graph. Where kernels are measured it
// then extracts the best graph, measures its kernels, and repeats that until they are all known.
// The candidates are these graphs, without those that equal an earlier one or the original. Costs
// are those with the surcharge on rewrites (rewrite_surcharge.h).
//
//   1. the best graph by what is known of kernels (`exact`, else `dag`);
//   2. where kernels are measured, others with other kernels that are predicted to be about as good
//      (SearchSettings::alternatives);
//   3. the graph of least tree cost (`tree`);
//   4. where kernels are measured, the best graph by estimates alone, as something may have
//      disturbed the measurements; for a device that is known from a snapshot, the best graph with
//      estimates of the kernels that were not recorded.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/eval/fold.h"
#include "core/model/graph.h"
#include "core/optimize/budget.h"
#include "core/optimize/candidate.h"
#include "core/optimize/options.h"
#include "core/report/report.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

class GrownEGraph;
class Variants;

// The result of a search.
struct Candidates {
  std::vector<Candidate> found;  // Different graphs, in the order in which they were extracted.
  // Makes variants of these graphs (variants.h). Null where costs are not measured.
  std::shared_ptr<Variants> variants;
  report::SearchFigures figures;
  std::map<std::string, report::RuleFigures> rules;  // What the rules did that had a match.
  bool was_cut_short = false;                        // Choices::was_cut_short
  std::string checkpoint_refused;  // Why the checkpoint cannot be used. Empty if it can.

  // Names of the rules that the search applied.
  std::vector<std::string> AppliedRules() const;
};

// The default of SearchSettings::alternatives.
inline constexpr int kMostAlternatives = 2;

// What a search may use. It does not change during the search.
struct SearchSettings {
  const Clock& clock;  // Tells how much of the time is spent. Borrowed.
  // Without, time bounds nothing but one exact extraction, whose answer counts only if it is the
  // best: then the one candidate does not depend on time.
  std::optional<SearchTime> time;
  int threads = 1;
  int max_opset = 0;                // The highest opset that a rewrite may need.
  int constant_footprint_log2 = 0;  // kernels::ConstantFootprintLog2 of the model.
  std::span<const rules::Family> families = rules::AllFamilies();  // The rules to use.
  // If costs are measured, this many graphs are candidates: the best one and others with different
  // kernels that are predicted to be about as good. Kernels influence each other, so only running
  // whole graphs shows which is best. Each of them takes memory, and time to check and to tell from
  // the others: with three, some models took three seconds instead of one. With 0 there is one
  // candidate, the exact extractor's if that is not the original, and no variants of it.
  int alternatives = kMostAlternatives;
  double surcharge = 0;    // On rewrites (rewrite_surcharge.h).
  double operator_us = 0;  // What each operator costs beside its kernel.
  // Where checkpoints are kept while the e-graph grows, which takes long. Null means that none are.
  CheckpointSlot* checkpoint = nullptr;
  // The version, the device and the options. A checkpoint is only used if these are the same.
  std::string checkpoint_context;
  // Called once candidates have been chosen, with the e-graph that the search ended with. May be
  // empty.
  std::function<void(GrownEGraph&, const std::vector<Candidate>&, const report::SearchFigures&)>
      look;
};
// The largest number of candidates that Search finds: one, or the exact extractor's graph, the
// `tree` one, the one by estimates, and, if `alternatives` is more than 1, as many others, because
// the best of the alternatives need not be the exact extractor's graph.
int MostCandidates(int alternatives);

struct SearchProgress {
  double seconds = 0;  // Includes the time before an interruption.
  int64_t enodes = 0;  // Size of the e-graph.
  // The best cost so far, as a share of the original's cost, or 0 if it is not known. Both are by
  // the costs of e-nodes, which consider less fusion than the prediction of a whole graph, so only
  // their ratio is meaningful. At the end it is the ratio of SearchFigures::best_costs.
  double best_share = 0;
};
// Called a few times a second.
using SearchHook = std::function<void(const SearchProgress& progress)>;

// Returns the graph as it comes out of an e-graph to which no rule was applied. Constants are
// folded. `measured` is `graph` with every symbol bound, and has the same ids.
absl::StatusOr<Candidate> Unrewritten(const model::Graph& graph, const model::Graph& measured,
                                      const eval::FoldLimits& folding, const StopCondition& stop);

// `measured` is `graph` with every symbol bound, and has the same ids. Blocks until the search is
// done, until settings.time has passed or until `stop` fires; the latter two are no errors, but if
// the job was cancelled, it fails with CANCELLED. Fails with OPTION_INVALID if a disabled rule does
// not exist. Candidates::variants borrows `costs`.
absl::StatusOr<Candidates> Search(const model::Graph& graph, const model::Graph& measured,
                                  const Options& options, const SearchSettings& settings,
                                  cost::CostModel& costs, const StopCondition& stop,
                                  const SearchHook& hook);

}  // namespace quotient::optimize
