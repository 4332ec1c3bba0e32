#pragma once

// Incumbent: the best state that a search has found, how it came to it, and which other states may
// take its place: when measurements change costs, or because time ran out in one of them. Not
// thread-safe.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/search/checkpoint.h"
#include "core/search/contenders.h"
#include "core/search/strategy.h"
#include "core/search/walk.h"

namespace quotient::search {

class Incumbent {
 public:
  // When a state was found: seconds since the search began, and simulations by then.
  struct Moment {
    double seconds = 0;
    int64_t simulations = 0;
  };
  // A state that was found: what it costs, the path to it, and how long it takes to walk the path.
  struct Found {
    State state;
    std::vector<Action> path;
    double seconds = 0;
  };

  // Borrows the prices, which are null if costs never change.
  explicit Incumbent(const Prices* prices) : prices_(prices), contenders_(prices) {}

  // Makes the state the best one, whatever it costs. Must be called first, with the initial state.
  void Set(Found found, Moment now);
  // Whether Offer would make any use of the state.
  bool Wants(const State& state) const {
    return cost() > state.cost || contenders_.Wants(state.bill);
  }
  // Makes the state the best one if it is cheaper, and remembers it as a contender.
  void Offer(Found found, Moment now);
  // The same for a state that contains more than all others: it also replaces a best state of equal
  // cost, since costs that become known later may differ. Where costs may change, the last one
  // offered is what PreferLargest goes back to.
  void OfferLargest(Found found, Moment now);
  // Remembers a state that may become the best, although it is not.
  void AddContender(BillId bill, std::vector<Action> path, double seconds) {
    contenders_.Add(bill, std::move(path), seconds);
  }
  // Records that the path leads to a saturated e-graph, which contains everything that the rules
  // can make. Where costs may change, that state is the answer whatever costs turn out to be.
  void SetSaturated(const std::vector<Action>& path);

  // Records the state in which the walk was left when time ran out. No path leads there again.
  void Interrupt(const State& state) { interrupted_ = {state, false}; }
  // The same while the initial e-graph was being grown, or the grown one settled: the state then
  // contains more than all others.
  void InterruptInLargest(const State& state) { interrupted_ = {state, true}; }
  // Whether the search should end in that state: if it is better than the best recorded state, or
  // equal while costs may still change (it holds more alternatives). The largest state is kept
  // whatever it is thought to cost: it holds the graphs of all others.
  bool PrefersInterrupted() const;
  // Makes that state the best one if it is cheaper. The path to it is not known.
  void OfferInterrupted(Moment now);

  // Brings all costs up to date, by the present cost of the initial state, `root_cost`. Another
  // state may then be the best.
  void Reprice(double root_cost, Moment now);
  // Makes the state of SetSaturated the best one. False if there is none.
  bool SelectSaturated();
  // For the end of a search: makes the largest state the best one again, unless `is_known` says
  // that nothing is missing of either's cost and the best one is clearly cheaper. In the largest
  // state the final extraction, which takes longer than those of a search, has the most to choose
  // from.
  void PreferLargest(bool is_known, Moment now);
  // Forgets which states were the best so far and returns the path to the last one, for a search
  // that values it again.
  std::vector<Action> TakePath();

  double cost() const { return improvements_.back().cost; }
  const std::vector<Action>& path() const { return path_; }
  // Time it takes to walk to the best state, or to the largest one if that takes longer.
  double seconds() const {
    return largest_.has_value() ? std::max(seconds_, largest_->seconds) : seconds_;
  }
  // Time to reserve for going to the best state: about as long as the way there took, and as long
  // again to leave the present state and to value the best one.
  double SecondsToGoThere() const { return 2 * seconds(); }
  // The successive best states; see Outcome::improvements.
  const std::vector<Improvement>& improvements() const { return improvements_; }

  // The parts that a checkpoint stores. Contenders and bills are not among them.
  template <typename Stream>
  void VisitImprovements(Stream& stream) {
    stream.List(improvements_, 17, [&stream](auto& improvement) {
      stream.Real(improvement.seconds, 0, kMostSeconds);
      stream.Number(improvement.simulations, kMostCounted);
      stream.Real(improvement.cost, -kAnyCost, kAnyCost);
    });
  }
  template <typename Stream>
  void VisitPath(Stream& stream, size_t num_rules) {
    VisitActions(stream, path_, num_rules);
    stream.Real(seconds_, 0, kMostSeconds);
  }

 private:
  struct Interrupted {
    State state;
    bool is_largest;
  };

  const Prices* const prices_;
  std::vector<Improvement> improvements_;
  std::vector<Action> path_;
  double seconds_ = 0;
  Contenders contenders_;  // Empty unless prices change.
  // Where costs may change: the largest state that was offered last, and the path of SetSaturated.
  std::optional<Found> largest_;
  std::optional<std::vector<Action>> path_to_saturated_;
  std::optional<Interrupted> interrupted_;
};

}  // namespace quotient::search
