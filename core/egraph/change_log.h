#pragma once

// ChangeLog: in which order e-nodes changed, for those who look at changes only and at different
// times. Each e-node has a position, that of its last change: by epoch (Row::changed_at), which
// ends when changes are acknowledged, and within an epoch by id. Who has come to some position has
// seen the e-nodes before it as they are, and need only look at the rest. One thread to change.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"
#include "core/egraph/row.h"

namespace quotient::egraph {

class ChangeLog {
 public:
  struct Position {
    uint32_t epoch = 0;
    uint32_t node = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  // The rest of the state, which does not lie in arrays.
  struct Counts {
    uint32_t epoch = 0;          // acknowledgements so far
    uint32_t nodes = 0;          // that were there at the last one
    uint32_t changes = 0;        // length of the log then
    uint32_t complete_from = 0;  // the first epoch since which all are kept
  };

  // Borrows the e-nodes.
  ChangeLog(Trail* trail, const FlatArray<Row>* rows)
      : rows_(rows), changes_(trail), epochs_(trail) {}

  const Counts& counts() const { return counts_; }
  void SetCounts(const Counts& counts) { counts_ = counts; }

  uint32_t epoch() const { return counts_.epoch; }
  // An e-node that was there before this epoch changed, for the first time in it.
  void Add(ENodeId id) { changes_.push_back(id); }

  Position position(ENodeId id) const { return {(*rows_)[id.value()].changed_at, id.value()}; }
  // Where the present epoch begins.
  Position begin() const { return {counts_.epoch, 0}; }

  // Puts the present epoch in order; until then its e-nodes are visited as they come.
  void Sort();

  // Calls visit(e-node, its position) in order, from `from` on, until it says false.
  template <typename Visit>
  void ForEachSince(Position from, const Visit& visit) const {
    if (from.epoch < counts_.complete_from) {
      for (const Position position : AllSince(from)) {
        if (!visit(ENodeId(position.node), position)) return;
      }
      return;
    }
    const auto first = std::ranges::lower_bound(epochs_.span(), from.epoch, {},
                                                [](const Epoch& e) { return e.id; });
    for (const Epoch& epoch : std::span(first, epochs_.span().end())) {
      if (!VisitEpoch(epoch, from, visit)) return;
    }
    VisitEpoch(Present(), from, visit);
  }

  // Begins another epoch. Without `keep`, who asks for those before it has to look at all e-nodes.
  void Acknowledge(bool keep);

  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit) {
    visit(self.changes_);
    visit(self.epochs_);
  }

 private:
  struct Epoch {
    uint32_t id;
    uint32_t nodes_begin;
    uint32_t nodes_end;
    uint32_t changes_begin;
    uint32_t changes_end;
  };

  bool empty() const {
    return counts_.nodes == rows_->size() && counts_.changes == changes_.size();
  }
  std::vector<Position> AllSince(Position from) const;
  Epoch Present() const {
    return {counts_.epoch, counts_.nodes, rows_->size(), counts_.changes, changes_.size()};
  }

  template <typename Visit>
  bool VisitEpoch(const Epoch& epoch, Position from, const Visit& visit) const {
    const auto changes =
        changes_.span().subspan(epoch.changes_begin, epoch.changes_end - epoch.changes_begin);
    const auto meet = [&](ENodeId id) {
      const Position position = this->position(id);
      // One that changed again since is met there.
      return position.epoch != epoch.id || position < from || visit(id, position);
    };
    if (!std::ranges::all_of(changes, meet)) return false;
    for (uint32_t i = epoch.nodes_begin; i < epoch.nodes_end; ++i) {
      if (!meet(ENodeId(i))) return false;
    }
    return true;
  }

  const FlatArray<Row>* const rows_;
  FlatArray<ENodeId> changes_;  // of e-nodes that were there when their epoch began
  FlatArray<Epoch> epochs_;     // past ones that are kept
  Counts counts_;
};

}  // namespace quotient::egraph
