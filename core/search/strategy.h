#pragma once

// Strategy: an algorithm that decides how an e-graph is grown by rules.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/stop.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::search {

struct Limits {
  // Also checked within an iteration, so that only the last matches applied may exceed it.
  int64_t max_enodes = 50'000;
  int64_t max_iterations = 1'000;
  // Per iteration; a rule with more matches is then banned for a while (backoff.h).
  int64_t max_matches_per_rule = 10'000;
  // Limit on Outcome::simulations, for strategies that count them.
  int64_t max_simulations = std::numeric_limits<int64_t>::max();
};

// Identifies a bill: what the cost of a state is made of, where measurements may still change that
// cost. Invalid where costs are known for good.
using BillId = StrongId<struct BillTag>;

// The present costs, where measurements arrive while a search runs. One object serves all
// workspaces of a search. Thread-safe.
class Prices {
 public:
  virtual ~Prices() = default;
  // Whether anything was learned that the present prices do not include. Quick.
  virtual bool HasNews() const = 0;
  // Updates the prices by what is known now, without waiting for more. Between updates prices stay
  // fixed, so that costs can be compared. Returns whether any price has changed.
  virtual bool Update() = 0;
  // The cost of a state with this bill at present prices. The state may by now have a cheaper
  // graph, so this is an upper bound of its cost. The order of summation is unspecified: the last
  // bits may differ from those of Workspace::Cost.
  virtual double CostOf(BillId bill) const = 0;
  // Whether nothing more will be learned about the items of the cheapest bill. Quick.
  virtual bool BestIsKnown() const = 0;
  // Blocks until the missing costs of the cheapest bill have arrived, or until `stop`. Does not
  // change prices.
  virtual void AwaitBest(const StopCondition& stop) = 0;
  // Blocks while costs are being measured that the caller's computation would disturb, or until
  // `stop`.
  virtual void GiveWay(const StopCondition& /*stop*/) {}
};

// What a search works on: an e-graph, the rules that may grow it, and the cost of its states. One
// thread.
class Workspace {
 public:
  virtual ~Workspace() = default;
  virtual egraph::EGraph& graph() = 0;
  virtual std::span<const egraph::Rule* const> rules() const = 0;

  // Called after the graph has grown. The graph is clean, and its changes have not been
  // acknowledged.
  virtual void OnGraphGrown() = 0;
  // The cost that a search minimizes: that of the best graph in the clean e-graph, as far as it can
  // be found quickly. It depends on the state and on the way it was reached. If `stop` fires
  // meanwhile, it is the cost of some graph in the e-graph.
  virtual double Cost(const StopCondition& stop) = 0;
  // The bill of the best graph, as of the last call of Cost.
  virtual BillId bill() const { return {}; }
  // Null if costs are known for good.
  virtual Prices* prices() { return nullptr; }
  // Visits the classes that the best graph is made of, as of the last call of Cost.
  virtual void ForEachBest(const std::function<void(egraph::ClassId)>& visit) = 0;
  // A caller that calls Mark, Rollback or Forget of the e-graph calls the same function here
  // afterwards, so that data beside the e-graph follows it.
  virtual void Mark() = 0;
  virtual void Rollback() = 0;
  virtual void Forget() = 0;
};

// How often a rule was applied, and what that took.
struct RuleCounts {
  int64_t matches = 0;  // Matches that were applied, whether or not they changed the graph.
  int64_t changed = 0;  // Those that did.
  int64_t enodes = 0;   // E-nodes they made, including those that later turned out to be equal.

  RuleCounts& operator+=(const RuleCounts& other) {
    matches += other.matches;
    changed += other.changed;
    enodes += other.enodes;
    return *this;
  }
  friend bool operator==(const RuleCounts&, const RuleCounts&) = default;
};

// A point of the search at which another state became the best.
struct Improvement {
  double seconds = 0;  // Since the start of the search.
  int64_t simulations = 0;
  double cost = 0;  // Cost of that state.
  BillId bill;
};

struct Outcome {
  StopReason reason = StopReason::kNone;
  int64_t iterations = 0;
  // Number of matches that changed the graph, on the path to the final state.
  int64_t matches_applied = 0;
  std::vector<RuleCounts> by_rule;  // The same path by rule; parallel to the rules.
  // The successive best states, beginning with the initial one. All costs are computed from what
  // was known when the outcome was made. They decrease, unless costs were learned during the
  // search: a state that was the best for a while may then be dearer than the one it replaced.
  std::vector<Improvement> improvements;

  // Number of actions tried. 0 for strategies that do not try actions one by one.
  int64_t simulations = 0;
  // Number of different states that were remembered.
  int64_t states = 0;

  // What was restored from a checkpoint. The counts and seconds above include it.
  struct Resumption {
    // How often this search was resumed.
    int64_t times = 0;
    int64_t simulations = 0;
    double seconds = 0;
  };
  Resumption resumed;
  // Why a checkpoint could not be used; empty if it could, or if there was none.
  std::string checkpoint_refused;
};

// Called now and then with a clean graph: by `saturate` after each iteration, and by a resumed
// search also at its start.
using ProgressHook = std::function<void(const egraph::EGraph& graph, const Outcome& so_far)>;

struct Task {
  // Measures how long steps take, for Improvement::seconds and to reserve time for going back to
  // the best state. `stop` has a clock of its own, by which it tells when time is up.
  const Clock& clock;
  Limits limits;
  StopCondition stop;
  ProgressHook hook;
  uint64_t seed = 0;
  // Number of threads. More than one needs `make_workspace`, which makes another workspace in the
  // initial state of the first, and which must be thread-safe.
  int workers = 1;
  std::function<absl::StatusOr<std::unique_ptr<Workspace>>()> make_workspace;
  // Where a resumable strategy (`mcts`) saves checkpoints and looks for one to resume from. If
  // null, there are none. The time spent before an interruption is subtracted from what is left.
  CheckpointSlot* checkpoint = nullptr;
  // What else must be equal to resume a search, besides limits, seed, rules and initial state:
  // versions, options.
  std::string context;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual const char* name() const = 0;
  // The extractor that the strategy wants states to be valued by, where the workspace has a choice:
  // see core/extract.
  virtual const char* extractor() const { return "dag"; }
  // Grows a clean graph without marks until a limit is reached, the task's stop condition fires, or
  // nothing is left to do. Blocks. Leaves the graph clean, in the best state seen or, for a
  // strategy that does not go back, in the last state it committed to. Deterministic unless stopped
  // by time, whatever the number of workers. Origins are the index in the rules + 1.
  virtual absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const = 0;
};

// Null for an unknown name.
const Strategy* FindStrategy(absl::string_view name);
std::vector<std::string> StrategyNames();

}  // namespace quotient::search
