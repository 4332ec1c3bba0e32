#include "core/search/successive_trees.h"

#include <algorithm>

namespace quotient::search {
namespace {

// Most states per tree, since they are kept in memory.
constexpr size_t kMostStates = 200'000;

}  // namespace

void SuccessiveTrees::Restart(int64_t simulations) {
  num_states_ = num_states();
  tree_.Reset(root_.state, opened());
  last_restart_ = simulations;
  ++num_restarts_;
}

bool SuccessiveTrees::RestartIfStuck(int64_t simulations, int64_t last_improvement) {
  const int64_t since = simulations - std::max(last_restart_, last_improvement);
  const bool stuck = since > kPatience + last_improvement;
  if (!stuck && tree_.num_states() < kMostStates) return false;
  priors_.DrawFactors();
  Restart(simulations);
  return true;
}

bool SuccessiveTrees::TryPlaces(int64_t simulations) {
  if (places_ == Walk::Places::kOfAllRules) return false;
  places_ = Walk::Places::kOfAllRules;
  Restart(simulations);
  return true;
}

void SuccessiveTrees::Reprice(absl::FunctionRef<double(BillId)> cost_of) {
  if (root_.state.bill.valid()) root_.state.cost = cost_of(root_.state.bill);
  tree_.Reprice(cost_of);
}

}  // namespace quotient::search
