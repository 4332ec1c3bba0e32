#pragma once

// HashCons: from the content of an e-node to its id. Knows ids and hashes only; whoever asks says
// whether a candidate's content is equal. Open addressing with linear probing. Nothing is ever
// erased: an entry whose e-node has other content by now equals nothing and goes when the table is
// rehashed, which is cheaper than finding it. One thread to change.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class HashCons {
 public:
  struct Slot {
    uint32_t hash = 0;
    ENodeId node;  // invalid: empty
  };

  explicit HashCons(Trail* trail) : slots_(trail), used_(trail) {
    slots_.Fill(kInitialSlots, Slot());
    used_.push_back({0});
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

  // Whether to Rehash before the next Insert.
  bool full() const { return (size_t{used()} + 1) * 3 > size_t{slots_.size()} * 2; }

  // The content of `node` must not be there yet, and the table not full.
  void Insert(uint32_t hash, ENodeId node) {
    Place({hash, node});
    used_.Write(0, {used() + 1});
  }

  // `node` must be there under this hash and gives its place to `replacement`.
  void Replace(uint32_t hash, ENodeId node, ENodeId replacement) {
    size_t i = hash & mask();
    while (slots_[i].node != node || slots_[i].hash != hash) i = (i + 1) & mask();
    slots_.Write(i, {hash, replacement});
  }

  // Starts anew with room for twice `count` entries; Insert them all now.
  void Rehash(uint32_t count) {
    // At most half full; never smaller than before, since a trail can only cut off.
    const uint32_t size = std::max(slots_.size(), std::bit_ceil(2 * count + 2));
    for (uint32_t i = 0; i < slots_.size(); ++i) slots_.Write(i, Slot());
    slots_.Reserve(size);
    slots_.Extend(size, Slot());
    used_.Write(0, {0});
  }

  uint32_t used() const { return used_[0].value; }

  // Calls visit on each array; for images of the whole.
  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit) {
    visit(self.slots_);
    visit(self.used_);
  }

 private:
  struct Word {
    uint32_t value;
  };
  static constexpr uint32_t kInitialSlots = 64;  // a power of two, as all sizes

  size_t mask() const { return slots_.size() - 1; }

  void Place(Slot slot) {
    size_t i = slot.hash & mask();
    while (slots_[i].node.valid()) i = (i + 1) & mask();
    slots_.Write(i, slot);
  }

  FlatArray<Slot> slots_;
  FlatArray<Word> used_;
};

}  // namespace quotient::egraph
