#include "core/search/contenders.h"

#include <algorithm>
#include <utility>

namespace quotient::search {

void Contenders::Add(BillId bill, std::vector<Action> path, double seconds) {
  if (!Wants(bill)) return;
  known_.insert(bill);
  all_.push_back({bill, std::move(path), seconds});
  if (all_.size() >= 2 * kMost) ForgetDearest();
}

// Among equals the youngest are forgotten. A bill that was forgotten may be added again.
void Contenders::ForgetDearest() {
  std::vector<std::pair<double, size_t>> cheapest;
  for (size_t i = 0; i < all_.size(); ++i) {
    cheapest.emplace_back(prices_->CostOf(all_[i].bill), i);
  }
  std::ranges::nth_element(cheapest, cheapest.begin() + kMost);
  cheapest.resize(kMost);
  std::ranges::sort(cheapest, {}, &std::pair<double, size_t>::second);
  std::vector<Contender> kept;
  known_.clear();
  for (const auto& [cost, i] : cheapest) {
    known_.insert(all_[i].bill);
    kept.push_back(std::move(all_[i]));
  }
  all_ = std::move(kept);
}

const Contenders::Contender* Contenders::Best() const {
  const auto cost = [this](const Contender& contender) { return prices_->CostOf(contender.bill); };
  const auto best = std::ranges::min_element(all_, {}, cost);
  return best == all_.end() ? nullptr : &*best;
}

}  // namespace quotient::search
