#pragma once

// Strategy: how the e-graph is grown.

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
#include "core/base/ids.h"
#include "core/base/stop.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::search {

struct Limits {
  int64_t max_enodes = 50'000;  // within an iteration, too, but for the last match's own
  int64_t max_iterations = 1'000;
  int64_t max_matches_per_rule = 10'000;  // per iteration, before the scheduler bans the rule
  // Steps of a strategy that tries one thing after the other.
  int64_t max_simulations = std::numeric_limits<int64_t>::max();
};

// What the cost of a state is made of, where that may become known better; else invalid.
using BillId = StrongId<struct BillTag>;

// What things cost, where more becomes known of it while a search goes on. One for all workspaces
// of a search. Thread-safe.
class Prices {
 public:
  virtual ~Prices() = default;
  // Whether anything was learnt that prices do not show yet. Quick.
  virtual bool HasNews() const = 0;
  // Puts up new prices by what is known by now, without waiting for more. Until then all stay as
  // they are, so that costs can be compared. Whether any has changed.
  virtual bool Update() = 0;
  // What a state comes to by the prices that are up, if it still is made of the same: no less than
  // its cost. In which order it is summed up is left open: its last bits may differ from those of
  // Workspace::Cost.
  virtual double CostOf(BillId bill) const = 0;
  // Whether nothing more will become known of what the cheapest bill is made of. Quick.
  virtual bool BestIsKnown() const = 0;
  // Blocks until what was missing for that has arrived, or `stop`; prices stay as they are.
  virtual void AwaitBest(const StopCondition& stop) = 0;
};

// What a search works on: an e-graph, the rules that may grow it, and what its states are worth.
// One thread.
class Workspace {
 public:
  virtual ~Workspace() = default;
  virtual egraph::EGraph& graph() = 0;
  virtual std::span<const egraph::Rule* const> rules() const = 0;

  // The graph grew, and is clean: before anybody acknowledges its changes.
  virtual void Follow() = 0;
  // What a search brings down: the cost of the best that can be taken out of the clean graph, as
  // far as it can be told quickly. A function of the state and of how it was come to; that of some
  // graph in it if `stop` says so meanwhile.
  virtual double Cost(const StopCondition& stop) = 0;
  // What that was made of, as of the last call of Cost.
  virtual BillId bill() const { return {}; }
  // By which bills are valued; null if costs are known for good.
  virtual Prices* prices() { return nullptr; }
  // The classes that this best one is made of, as of the last call of Cost.
  virtual void ForEachBest(const std::function<void(egraph::ClassId)>& visit) = 0;
  // Together with the graph's marks, which others set.
  virtual void Mark() = 0;
  virtual void Rollback() = 0;
  virtual void Forget() = 0;
};

// Another state was held to be the best.
struct Improvement {
  double seconds = 0;  // since the start
  int64_t simulations = 0;
  double cost = 0;  // of that state
  BillId bill;
};

struct Outcome {
  StopReason reason = StopReason::kNone;
  int64_t iterations = 0;
  // Matches that changed the graph, of what led to the final one.
  int64_t matches_applied = 0;
  std::vector<int64_t> applied_by_rule;  // parallel to the rules
  // From the state where it began on. All costs are by what was known when the outcome was made. So
  // they fall, but where something was learnt of costs meanwhile: what was held to be the best
  // before that may be dearer than what was left for it.
  std::vector<Improvement> improvements;

  // Of strategies that try one thing after the other.
  int64_t simulations = 0;
  int64_t states = 0;  // different ones that are remembered

  // What was taken over from a checkpoint. Figures and seconds above hold it, too.
  struct Resumption {
    int64_t times = 0;  // this search was resumed; 0: it was not
    int64_t simulations = 0;
    double seconds = 0;
  };
  Resumption resumed;
  std::string checkpoint_refused;  // why the one that there was is of no use
};

// Called now and then with a clean graph; by `saturate` after each iteration, and at once by a
// search that goes on from a checkpoint.
using ProgressHook = std::function<void(const egraph::EGraph& graph, const Outcome& so_far)>;

struct Task {
  Limits limits;
  StopCondition stop;
  ProgressHook hook;
  uint64_t seed = 0;
  // Threads that search. More than one need `make_workspace`: another workspace in the state in
  // which the first one is. Thread-safe.
  int workers = 1;
  std::function<absl::StatusOr<std::unique_ptr<Workspace>>()> make_workspace;
  // Where a strategy that can be resumed (`mcts`) leaves checkpoints, and whether there is one to
  // go on from. Null: nowhere. The time that was spent then is taken from what `stop` leaves.
  CheckpointSlot* checkpoint = nullptr;
  // What has to be the same for that, apart from limits, seed, rules and state: versions, options.
  std::string context;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual const char* name() const = 0;
  // The extractor by which it wants states to be valued, where the workspace has a choice: see
  // core/extract.
  virtual const char* extractor() const { return "dag"; }
  // Grows a clean graph without marks by the rules until the task's end or until there is nothing
  // left to do; blocking; leaves it clean, in the best state that was seen, or in the last one to
  // which a strategy that does not go back has committed itself. Deterministic unless stopped by
  // time, whatever the number of workers. Origins are index in the rules + 1.
  virtual absl::StatusOr<Outcome> Run(Workspace& workspace, const Task& task) const = 0;
};

// One row per strategy. Null for an unknown name.
const Strategy* FindStrategy(absl::string_view name);
std::vector<std::string> StrategyNames();

}  // namespace quotient::search
