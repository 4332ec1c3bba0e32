// How a tree search deals with costs that change while it runs, because kernels are being measured:
// it reprices the states that it remembers, and waits for the costs that matter most.

#include <algorithm>

#include "core/search/mcts_search.h"

namespace quotient::search {
namespace {

// Repricing visits all states, so it waits until there has been one simulation for this many
// states.
constexpr int64_t kRepricedPerSimulation = 64;
// Share of a search's time that is kept for measuring what is unknown about its best state, since
// an unmeasured state may look better than it is; and the most rounds of waiting.
constexpr double kShareOfWaiting = 0.2;
constexpr int kMostRounds = 40;

}  // namespace

bool MctsSearch::MayReprice() const {
  const int64_t since = outcome_.simulations - last_repricing_;
  return since >= static_cast<int64_t>(tree_.num_states()) / kRepricedPerSimulation;
}

// Updates all remembered costs if measurements have arrived. Another state may then be the best.
void MctsSearch::Reprice() {
  if (prices_ == nullptr || !prices_->HasNews() || !prices_->Update()) return;
  was_repriced_ = true;
  last_repricing_ = outcome_.simulations;
  root_.cost = CostNow(root_.bill, root_.cost);
  tree_.Reprice([this](BillId bill) { return prices_->CostOf(bill); });
  if (interrupted_state_.has_value()) RepriceState(*interrupted_state_);
  best_.Reprice(Now());
}

// Reprices a state that was valued before prices changed. No state costs more than the root, whose
// best graph is contained in all of them.
void MctsSearch::RepriceState(State& state) const {
  if (was_repriced_) state.cost = std::min(CostNow(state.bill, state.cost), root_.cost);
}

// Waits for the missing costs of the grown state, which walk_ is in, values it again, and repeats
// that until all are known. The tree search then begins with the costs that matter most,
// and can tell whether a state is worth leaving this one for. If time is up before, the search ends
// here, as `saturate` would.
void MctsSearch::SettleLargest() {
  for (int round = 0; round < kMostRounds && !prices_->BestIsKnown(); ++round) {
    prices_->AwaitBest(task_.stop);
    if (outcome_.reason = task_.stop.Check(); outcome_.reason != StopReason::kNone) {
      interrupted_state_ = walk_.state();
      is_interrupted_in_largest_ = true;
      return;
    }
    if (!prices_->HasNews()) return;
    Reprice();
    const State& grown = walk_.Revalue(task_.stop);
    best_.OfferLargest({grown, PathToGrown(), walk_.seconds()}, Now());
  }
  largest_is_settled_ = prices_->BestIsKnown();
}

// Waits for the missing costs of the best state until they are known or time is up. Called after
// the other threads have ended, so no search time is lost.
void MctsSearch::SettleBest() {
  if (prices_ == nullptr) return;
  if (best_.SelectSaturated()) return Reprice();
  AwaitBest();
  best_.PreferLargest(largest_is_settled_ && prices_->BestIsKnown(), Now());
}

// Waits until nothing is missing of the cost of the cheapest state. Which state that is may change
// while costs arrive.
void MctsSearch::AwaitBest() {
  for (int round = 0; round < kMostRounds && !prices_->BestIsKnown(); ++round) {
    const StopCondition stop = task_.stop.EarlierBy(SecondsToBest());
    if (stop.ShouldStop()) break;
    prices_->AwaitBest(stop);
    Reprice();
  }
  Reprice();
}

// Time to reserve for SettleBest. None where costs are known, since there is nothing to wait for.
double MctsSearch::SecondsToSettleBest() const {
  if (prices_ == nullptr || prices_->BestIsKnown()) return 0;
  return kShareOfWaiting / (1 - kShareOfWaiting) * SecondsSpent();
}

// Blocks while costs are being measured that a simulation would disturb.
void MctsSearch::GiveWay() {
  if (prices_ == nullptr) return;
  mutex_.Lock();
  const StopCondition end = EndOfSimulations();
  mutex_.Unlock();
  prices_->GiveWay(end);
}

}  // namespace quotient::search
