#include "core/search/incumbent.h"

namespace quotient::search {

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
  if (found.state.cost < cost()) return Set(std::move(found), now);
  if (found.state.cost == cost()) path_ = std::move(found.path);
}

void Incumbent::SetAll(const std::vector<Action>& path) {
  if (prices_ != nullptr) to_all_ = path_ = path;
}

void Incumbent::Reprice(Moment now) {
  for (Improvement& step : improvements_) {
    if (step.bill.valid()) step.cost = prices_->CostOf(step.bill);
  }
  const Contenders::Contender* const best = contenders_.Best();
  if (best == nullptr) return;
  const State state = {.cost = prices_->CostOf(best->bill), .bill = best->bill};
  if (state.cost < cost()) Set({state, best->path, best->seconds}, now);
}

bool Incumbent::TakeAll() {
  if (!to_all_.has_value()) return false;
  path_ = *to_all_;
  return true;
}

std::vector<Action> Incumbent::ForgetHistory() {
  improvements_.clear();
  return std::exchange(path_, {});
}

}  // namespace quotient::search
