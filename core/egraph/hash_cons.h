#pragma once

// HashCons: from the content of an e-node to its id. Knows ids and hashes only; whoever asks says
// whether a candidate's content is equal. Open addressing with linear probing. Nothing is ever
// erased: an entry whose e-node has other content by now equals nothing and goes when the table is
// cleaned, which is cheaper than finding it. One thread to change.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class HashCons {
 public:
  struct Slot {
    uint32_t hash = 0;
    ENodeId node;  // invalid: empty
  };

  explicit HashCons(Trail* trail) : slots_(trail), counts_(trail) {
    slots_.Fill(kInitialSlots, Slot());
    counts_.push_back(Counts());
  }

  // The id among those of this hash for which equal(id) holds; invalid if there is none.
  template <typename Equal>
  ENodeId Find(uint32_t hash, const Equal& equal) const {
    for (size_t i = hash & mask(); slots_[i].node.valid(); i = (i + 1) & mask()) {
      if (slots_[i].hash == hash && equal(slots_[i].node)) return slots_[i].node;
    }
    return ENodeId();
  }

  void Prefetch(uint32_t hash) const { __builtin_prefetch(slots_.data() + (hash & mask())); }

  // Whether to Grow or Clean before the next Insert.
  bool full() const { return (size_t{used()} + 1) * 3 > size_t{slots_.size()} * 2; }
  bool worth_cleaning() const { return counts_[0].outdated > used() / 4; }

  // The content of `node` must not be there yet, and the table not full.
  void Insert(uint32_t hash, ENodeId node) {
    Place({hash, node});
    counts_.Write(0, &Counts::used, used() + 1);
  }

  // One e-node that is there has other content now.
  void CountOutdated() { counts_.Write(0, &Counts::outdated, counts_[0].outdated + 1); }

  // `node` must be there under this hash and gives its place to `replacement`.
  void Replace(uint32_t hash, ENodeId node, ENodeId replacement) {
    size_t i = hash & mask();
    while (slots_[i].node != node || slots_[i].hash != hash) i = (i + 1) & mask();
    slots_.Write(i, {hash, replacement});
  }

  // Starts anew with room for twice `count` entries; Insert them all now.
  void Clean(uint32_t count) {
    // At most half full; never smaller than before, since a trail can only cut off.
    const uint32_t size = std::max(slots_.size(), std::bit_ceil(2 * count + 2));
    for (uint32_t i = 0; i < slots_.size(); ++i) slots_.Write(i, Slot());
    slots_.Extend(size, Slot());
    counts_.Write(0, Counts());
  }

  // Room for `count` entries, all that are there kept. An entry's place is then the same or behind
  // all that was there, so one pass in order of place does it in place: what it puts somewhere
  // stays there, and what it has not come to yet is never in the way. Only entries at the beginning
  // may have come around from the end; they are taken out first and go in last.
  void Grow(uint32_t count) {
    const uint32_t before = slots_.size();
    slots_.Extend(std::max(before, std::bit_ceil(count + count / 2 + 1)), Slot());
    if (slots_.size() == before) return;
    std::vector<Slot> taken_out;
    uint32_t first = 0;
    for (; slots_[first].node.valid(); ++first) {
      taken_out.push_back(slots_[first]);
      slots_.Write(first, Slot());
    }
    for (uint32_t i = first; i < before; ++i) {
      const Slot slot = slots_[i];
      if (!slot.node.valid() || (slot.hash & mask()) == i) continue;
      slots_.Write(i, Slot());
      Place(slot);
    }
    for (const Slot& slot : taken_out) Place(slot);
  }

  uint32_t used() const { return counts_[0].used; }

  // Calls visit on each array; for images of the whole.
  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit) {
    visit(self.slots_);
    visit(self.counts_);
  }

 private:
  struct Counts {
    uint32_t used = 0;
    uint32_t outdated = 0;
  };
  static constexpr uint32_t kInitialSlots = 64;  // a power of two, as all sizes

  size_t mask() const { return slots_.size() - 1; }

  void Place(Slot slot) {
    size_t i = slot.hash & mask();
    while (slots_[i].node.valid()) i = (i + 1) & mask();
    slots_.Write(i, slot);
  }

  FlatArray<Slot> slots_;
  FlatArray<Counts> counts_;  // one
};

}  // namespace quotient::egraph
