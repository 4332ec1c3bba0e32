#pragma once

// HashCons: from the content of an e-node to its id. Knows ids and hashes only; whoever asks says
// whether a candidate's content is equal. Open addressing with linear probing; deletion closes the
// gap, so no tombstones gather while congruence re-keys e-nodes. One thread to change.

#include <bit>
#include <cstdint>
#include <vector>

#include "core/egraph/ids.h"

namespace quotient::egraph {

class HashCons {
 public:
  HashCons() : slots_(kInitialSlots) {}

  // The id among those of this hash for which equal(id) holds; invalid if there is none.
  template <typename Equal>
  ENodeId Find(uint32_t hash, const Equal& equal) const {
    for (size_t i = hash & mask(); slots_[i].node.valid(); i = (i + 1) & mask()) {
      if (slots_[i].hash == hash && equal(slots_[i].node)) return slots_[i].node;
    }
    return ENodeId();
  }

  // The content of `node` must not be there yet.
  void Insert(uint32_t hash, ENodeId node) {
    if ((size_ + 1) * 3 > slots_.size() * 2) Grow();
    Place({hash, node});
    ++size_;
  }

  // `node` must be there under this hash.
  void Erase(uint32_t hash, ENodeId node) {
    size_t gap = SlotOf(hash, node);
    --size_;
    // Moves back every later entry of the run whose home is not behind the gap.
    for (size_t i = (gap + 1) & mask(); slots_[i].node.valid(); i = (i + 1) & mask()) {
      const size_t from_home = (i - slots_[i].hash) & mask();
      const size_t from_gap = (i - gap) & mask();
      if (from_home < from_gap) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = Slot();
  }

  // `node` must be there under this hash and gives its place to `replacement`.
  void Replace(uint32_t hash, ENodeId node, ENodeId replacement) {
    slots_[SlotOf(hash, node)].node = replacement;
  }

  size_t size() const { return size_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    ENodeId node;  // invalid: empty
  };
  static constexpr size_t kInitialSlots = 64;  // a power of two, as all sizes

  size_t mask() const { return slots_.size() - 1; }

  size_t SlotOf(uint32_t hash, ENodeId node) const {
    size_t i = hash & mask();
    while (slots_[i].node != node) i = (i + 1) & mask();
    return i;
  }

  void Place(Slot slot) {
    size_t i = slot.hash & mask();
    while (slots_[i].node.valid()) i = (i + 1) & mask();
    slots_[i] = slot;
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.node.valid()) Place(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace quotient::egraph
