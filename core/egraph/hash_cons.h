#pragma once

// HashCons maps the content of an e-node to its id. It stores only hashes and ids; the caller
// compares contents. Open addressing with linear probing. Entries are never erased: an entry whose
// e-node has changed its content equals nothing that is looked up, and disappears when the table is
// cleaned, which is cheaper than finding it. One thread may change it.

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
    ENodeId node;  // Invalid in an empty slot.
  };

  explicit HashCons(Trail* trail) : slots_(trail), counts_(trail) {
    slots_.Fill(kInitialSlots, Slot());
    counts_.push_back(Counts());
  }

  // Returns the id with this hash for which equal(id) holds, or an invalid id.
  template <typename Equal>
  ENodeId Find(uint32_t hash, const Equal& equal) const {
    for (size_t i = hash & mask(); slots_[i].node.valid(); i = (i + 1) & mask()) {
      if (slots_[i].hash == hash && equal(slots_[i].node)) return slots_[i].node;
    }
    return ENodeId();
  }

  void Prefetch(uint32_t hash) const { __builtin_prefetch(slots_.data() + (hash & mask())); }

  // Whether Grow or Clean must be called before the next Insert.
  bool full() const { return (size_t{used()} + 1) * 3 > size_t{slots_.size()} * 2; }
  bool worth_cleaning() const { return counts_[0].outdated > used() / 4; }

  // The content of `node` must not be in the table, and the table must not be full.
  void Insert(uint32_t hash, ENodeId node) {
    Place({hash, node});
    counts_.Write(0, &Counts::used, used() + 1);
  }

  // Counts an entry whose e-node has changed its content.
  void CountOutdated() { counts_.Write(0, &Counts::outdated, counts_[0].outdated + 1); }

  // Puts `replacement` in the place of `node`, which must be in the table under this hash.
  void Replace(uint32_t hash, ENodeId node, ENodeId replacement) {
    size_t i = hash & mask();
    while (slots_[i].node != node || slots_[i].hash != hash) i = (i + 1) & mask();
    slots_.Write(i, {hash, replacement});
  }

  // Empties the table and makes room for twice `count` entries, which the caller must then insert.
  void Clean(uint32_t count) {
    // At most half full then. Never smaller than before, because a trail can only cut arrays off.
    const uint32_t size = std::max(slots_.size(), std::bit_ceil(2 * count + 2));
    for (uint32_t i = 0; i < slots_.size(); ++i) slots_.Write(i, Slot());
    slots_.Extend(size, Slot());
    counts_.Write(0, Counts());
  }

  // Makes room for `count` entries and keeps those in the table. An entry's home slot stays the
  // same or moves behind all old slots, so one pass in slot order rehashes in place: an entry never
  // lands on one that has not been visited yet. Only a run at the beginning may have wrapped around
  // from the end; it is taken out first and inserted last.
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

 private:
  struct Counts {
    uint32_t used = 0;
    uint32_t outdated = 0;
  };
  static constexpr uint32_t kInitialSlots = 64;  // A power of two, like all sizes.

  size_t mask() const { return slots_.size() - 1; }

  void Place(Slot slot) {
    size_t i = slot.hash & mask();
    while (slots_[i].node.valid()) i = (i + 1) & mask();
    slots_.Write(i, slot);
  }

  FlatArray<Slot> slots_;
  FlatArray<Counts> counts_;  // Has one element.
};

}  // namespace quotient::egraph
