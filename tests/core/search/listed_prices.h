#pragma once

#include <cstdint>
#include <map>

#include "core/search/strategy.h"

namespace quotient::search {

// The costs of bills that a test lists; any other bill costs 50.
class ListedPrices final : public Prices {
 public:
  bool HasNews() const override { return false; }
  bool Update() override { return false; }
  double CostOf(BillId bill) const override {
    const auto found = costs.find(bill.value());
    return found == costs.end() ? 50 : found->second;
  }
  bool BestIsKnown() const override { return true; }
  void AwaitBest(const StopCondition&) override {}

  std::map<uint32_t, double> costs;
};

}  // namespace quotient::search
