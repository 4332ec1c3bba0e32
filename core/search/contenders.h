#pragma once

// Contenders: states that may turn out to be the best once more is known of what things cost, with
// the way to each. Of states with the same bill the first one stands for all. Not thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/search/strategy.h"
#include "core/search/walk.h"

namespace quotient::search {

class Contenders {
 public:
  // Bills that are remembered: when there are twice as many, the dearest half is forgotten.
  static constexpr size_t kMost = 1'000;

  struct Contender {
    BillId bill;
    std::vector<Action> path;
    double seconds = 0;  // that it takes to come there
  };

  // Borrows the prices; none are needed where there are no bills.
  explicit Contenders(const Prices* prices) : prices_(prices) {}

  // Whether Add would remember a state with this bill.
  bool Wants(BillId bill) const { return bill.valid() && !known_.contains(bill); }
  void Add(BillId bill, std::vector<Action> path, double seconds);
  // The cheapest by what is known now, of equals the first; null if there is none.
  const Contender* Best() const;
  size_t size() const { return all_.size(); }

 private:
  void ForgetDearest();

  const Prices* const prices_;
  std::vector<Contender> all_;  // in the order in which they came
  absl::flat_hash_set<BillId> known_;
};

}  // namespace quotient::search
