#pragma once

// Contenders: states that may turn out to be the best when measurements change costs, each with a
// path to it. One state is kept per bill, the first one seen. Not thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/search/strategy.h"
#include "core/search/walk.h"

namespace quotient::search {

class Contenders {
 public:
  // At least this many of the cheapest bills are remembered. When there are twice as many, the
  // dearer half is forgotten.
  static constexpr size_t kMost = 1'000;

  struct Contender {
    BillId bill;
    std::vector<Action> path;
    // Time it takes to walk the path.
    double seconds = 0;
  };

  // Borrows the prices. May be null if no state has a bill.
  explicit Contenders(const Prices* prices) : prices_(prices) {}

  // Whether Add would remember a state with this bill.
  bool Wants(BillId bill) const { return bill.valid() && !known_.contains(bill); }
  void Add(BillId bill, std::vector<Action> path, double seconds);
  // The cheapest by current prices, the first among equals; null if there are none.
  const Contender* Best() const;
  size_t size() const { return all_.size(); }

 private:
  void ForgetDearest();

  const Prices* const prices_;
  std::vector<Contender> all_;  // In the order in which they were added.
  absl::flat_hash_set<BillId> known_;
};

}  // namespace quotient::search
