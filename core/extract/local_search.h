#pragma once

// Hill climbing on the cost of a SharedSelection; among equal costs fewer classes are better, then
// fewer e-nodes that rules made: a rewrite that gains nothing is none.
//
// Moves: switch(c): another e-node for one live class. adopt(X): every live class that has an
// alternative e-node with child X switches to it at once; those that do not pay switch back; kept
// if the total fell. That is what merged operators need: one class alone gains nothing by taking
// the merged one, all together do. Alternatives that reach X through one e-node of no cost (a split
// or reshape in between) count, too.

#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"
#include "core/extract/shared_selection.h"

namespace quotient::extract {

// Costs that differ by less, relatively, are equal: sums in different orders.
inline constexpr double kRelativeTolerance = 1e-12;

class LocalSearch {
 public:
  // Borrows all.
  LocalSearch(const Instance& instance, SharedSelection& selection, const StopCondition& stop);

  // Climbs until neither move helps or `stop` says so.
  void Run();

 private:
  struct Score {
    double cost;
    int64_t num_live;
    int64_t num_rewritten;
  };
  enum class Sideways { kRefuse, kTake };

  Score Now() const {
    return {selection_.cost(), selection_.num_live(), selection_.num_rewritten()};
  }
  bool Better(const Score& a, const Score& b) const;
  bool Equal(const Score& a, const Score& b) const { return !Better(a, b) && !Better(b, a); }

  bool SwitchPass(Sideways sideways);
  bool SwitchClass(Class id, Sideways sideways);
  bool AdoptPass();
  bool Adopt(Class adopted);
  void CollectAlternatives(Class adopted);
  void DropWhatDoesNotPay();

  const Instance& instance_;
  SharedSelection& selection_;
  const StopCondition& stop_;
  const double tolerance_;

  // Of one adoption: e-nodes to choose, in this order; at most one for each class.
  std::vector<Node> alternatives_;
  std::vector<uint32_t> taken_in_;  // by Class: the adoption that last chose for it
  uint32_t adoption_ = 0;
  std::vector<Class> reached_;
  std::vector<Node> replaced_;
};

}  // namespace quotient::extract
