#include "core/search/incumbent.h"

namespace quotient::search {
namespace {

// A state is clearly cheaper than the largest one if it costs less by this share.
constexpr double kWorthLeaving = 0.005;

}  // namespace

void Incumbent::Set(Found found, Moment now) {
  path_ = std::move(found.path);
  seconds_ = found.seconds;
  improvements_.push_back({now.seconds, now.simulations, found.state.cost, found.state.bill});
}

void Incumbent::Offer(Found found, Moment now) {
  contenders_.Add(found.state.bill, found.path, found.seconds);
  if (found.state.cost < cost()) Set(std::move(found), now);
}

void Incumbent::OfferLargest(Found found, Moment now) {
  contenders_.Add(found.state.bill, found.path, found.seconds);
  if (prices_ != nullptr) largest_ = found;
  if (found.state.cost < cost()) return Set(std::move(found), now);
  if (found.state.cost == cost()) path_ = std::move(found.path);
}

void Incumbent::SetSaturated(const std::vector<Action>& path) {
  if (prices_ != nullptr) path_to_saturated_ = path_ = path;
}

bool Incumbent::PrefersInterrupted() const {
  if (!interrupted_.has_value()) return false;
  return interrupted_->is_largest || interrupted_->state.cost < cost() ||
         (prices_ != nullptr && interrupted_->state.cost == cost());
}

void Incumbent::OfferInterrupted(Moment now) {
  if (interrupted_->state.cost < cost()) Set({interrupted_->state, {}, 0}, now);
}

void Incumbent::Reprice(double root_cost, Moment now) {
  if (interrupted_.has_value()) {
    State& state = interrupted_->state;
    if (state.bill.valid()) state.cost = prices_->CostOf(state.bill);
    state.cost = std::min(state.cost, root_cost);
  }
  for (Improvement& step : improvements_) {
    if (step.bill.valid()) step.cost = prices_->CostOf(step.bill);
  }
  const Contenders::Contender* const best = contenders_.Best();
  if (best == nullptr) return;
  const State state = {.cost = prices_->CostOf(best->bill), .bill = best->bill};
  if (state.cost < cost()) Set({state, best->path, best->seconds}, now);
}

bool Incumbent::SelectSaturated() {
  if (!path_to_saturated_.has_value()) return false;
  path_ = *path_to_saturated_;
  return true;
}

void Incumbent::PreferLargest(bool is_known, Moment now) {
  if (!largest_.has_value() || path_ == largest_->path) return;
  Found largest = *largest_;
  // The best graph of the initial state, which the first improvement stands for, is in it, too.
  if (largest.state.bill.valid()) largest.state.cost = prices_->CostOf(largest.state.bill);
  largest.state.cost = std::min(largest.state.cost, improvements_.front().cost);
  if (is_known && cost() < largest.state.cost * (1 - kWorthLeaving)) return;
  Set(std::move(largest), now);
}

std::vector<Action> Incumbent::TakePath() {
  improvements_.clear();
  largest_.reset();
  return std::exchange(path_, {});
}

}  // namespace quotient::search
