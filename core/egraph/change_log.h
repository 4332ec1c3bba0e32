#pragma once

// ChangeLog orders e-nodes by their last change, for readers that look only at changes and do so at
// different times. The position of an e-node is the epoch of its last change (Row::changed_at) and,
// within an epoch, its id. An epoch ends when changes are acknowledged. A reader that has reached a
// position has seen all e-nodes before it in their present state. One thread may change it.

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
  // The part of the state that is not in arrays.
  struct Counts {
    uint32_t epoch = 0;          // Number of acknowledgements so far.
    uint32_t nodes = 0;          // Number of e-nodes at the last acknowledgement.
    uint32_t changes = 0;        // Length of changes_ at that time.
    uint32_t complete_from = 0;  // All epochs from this one on are kept.
  };

  // Borrows the e-nodes.
  ChangeLog(Trail* trail, const FlatArray<Row>* rows)
      : rows_(rows), changes_(trail), epochs_(trail) {}

  const Counts& counts() const { return counts_; }
  void SetCounts(const Counts& counts) { counts_ = counts; }

  uint32_t epoch() const { return counts_.epoch; }
  // Records the first change in this epoch of an e-node that existed before it.
  void Add(ENodeId id) { changes_.push_back(id); }

  Position position(ENodeId id) const { return {(*rows_)[id.value()].changed_at, id.value()}; }
  // Where the present epoch begins.
  Position begin() const { return {counts_.epoch, 0}; }

  // Sorts the present epoch. Before that its changes are visited in the order they happened.
  void Sort();

  // Calls visit(e-node, position) in order, starting at `from`, until it returns false.
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

  // Begins a new epoch. Without `keep`, a reader that asks for earlier ones has to scan all
  // e-nodes.
  void Acknowledge(bool keep);

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
      // An e-node that changed again later is visited at that position instead.
      return position.epoch != epoch.id || position < from || visit(id, position);
    };
    if (!std::ranges::all_of(changes, meet)) return false;
    for (uint32_t i = epoch.nodes_begin; i < epoch.nodes_end; ++i) {
      if (!meet(ENodeId(i))) return false;
    }
    return true;
  }

  const FlatArray<Row>* const rows_;
  FlatArray<ENodeId> changes_;  // E-nodes older than the epoch in which they changed.
  FlatArray<Epoch> epochs_;     // Past epochs that are kept.
  Counts counts_;
};

}  // namespace quotient::egraph
