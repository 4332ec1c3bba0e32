#include "core/search/changing_costs.h"

#include <algorithm>

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

void ChangingCosts::Reprice() {
  if (prices_ == nullptr || !prices_->HasNews() || !prices_->Update()) return;
  was_repriced_ = true;
  last_repricing_ = progress_.simulations();
  trees_.Reprice([this](BillId bill) { return prices_->CostOf(bill); });
  best_.Reprice(trees_.root().cost, progress_.Now());
}

void ChangingCosts::RepriceIfDue() {
  const int64_t since = progress_.simulations() - last_repricing_;
  const auto num_states = static_cast<int64_t>(trees_.tree().num_states());
  if (since >= num_states / kRepricedPerSimulation) Reprice();
}

void ChangingCosts::RepriceState(State& state) const {
  if (!was_repriced_) return;
  const double cost = state.bill.valid() ? prices_->CostOf(state.bill) : state.cost;
  state.cost = std::min(cost, trees_.root().cost);
}

StopReason ChangingCosts::SettleLargest(Walk& walk, const StopCondition& stop) {
  if (prices_ == nullptr) return StopReason::kNone;
  for (int round = 0; round < kMostRounds && !prices_->BestIsKnown(); ++round) {
    prices_->AwaitBest(stop);
    if (const StopReason reason = stop.Check(); reason != StopReason::kNone) {
      best_.InterruptInLargest(walk.state());
      return reason;
    }
    if (!prices_->HasNews()) return StopReason::kNone;
    Reprice();
    const State& grown = walk.Revalue(stop);
    best_.OfferLargest({grown, PathToGrown(), walk.seconds()}, progress_.Now());
  }
  largest_is_settled_ = prices_->BestIsKnown();
  return StopReason::kNone;
}

void ChangingCosts::SettleBest(const StopCondition& stop) {
  if (prices_ == nullptr) return;
  if (best_.SelectSaturated()) return Reprice();
  AwaitBest(stop);
  best_.PreferLargest(largest_is_settled_ && prices_->BestIsKnown(), progress_.Now());
}

// Waits until nothing is missing of the cost of the cheapest state. Which state that is may change
// while costs arrive.
void ChangingCosts::AwaitBest(const StopCondition& stop) {
  for (int round = 0; round < kMostRounds && !prices_->BestIsKnown(); ++round) {
    const StopCondition end = stop.EarlierBy(best_.SecondsToGoThere());
    if (end.ShouldStop()) break;
    prices_->AwaitBest(end);
    Reprice();
  }
  Reprice();
}

double ChangingCosts::SecondsToSettleBest() const {
  if (prices_ == nullptr || prices_->BestIsKnown()) return 0;
  return kShareOfWaiting / (1 - kShareOfWaiting) * progress_.seconds();
}

}  // namespace quotient::search
