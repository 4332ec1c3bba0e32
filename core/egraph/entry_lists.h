#pragma once

// EntryLists: many lists of 32-bit entries in one flat array of small chunks. A list is three words
// that its owner keeps; appending and joining two lists take constant time and copy nothing.
//
//   chunk:  [entry][entry][entry][next chunk]     16 bytes; unused entries are kNone
//   list:   first chunk, slot of the last entry, number of entries

#include <cstdint>

#include "core/egraph/flat_array.h"

namespace quotient::egraph {

class EntryLists {
 public:
  struct Chunk {
    uint32_t entries[3];
    uint32_t next;
  };
  static constexpr uint32_t kNone = 0xffffffffu;

  struct List {
    uint32_t head = kNone;  // chunk
    uint32_t tail = kNone;  // chunk * 4 + position in it
    uint32_t count = 0;
  };

  explicit EntryLists(Trail* trail) : chunks_(trail) {}

  List Append(List list, uint32_t entry) {
    ++list.count;
    if (list.head != kNone && list.tail % 4 != 2) {
      ++list.tail;
      chunks_.WriteWord(list.tail, entry);
      return list;
    }
    const uint32_t fresh = chunks_.size();
    chunks_.push_back({{entry, kNone, kNone}, kNone});
    if (list.head == kNone) {
      list.head = fresh;
    } else {
      chunks_.Write(list.tail / 4, &Chunk::next, fresh);
    }
    list.tail = fresh * 4;
    return list;
  }

  // `back` must not be used as a list any more, but can still be walked through.
  List Join(List front, List back) {
    if (back.head == kNone) return front;
    if (front.head == kNone) return back;
    chunks_.Write(front.tail / 4, &Chunk::next, back.head);
    return {front.head, back.tail, front.count + back.count};
  }

  // The slot of the first entry at or after `slot`; kNone at the end. Begin with FirstSlot.
  uint32_t NextSlot(uint32_t slot) const {
    while (slot != kNone) {
      const Chunk& chunk = chunks_[slot / 4];
      if (slot % 4 == 3 || chunk.entries[slot % 4] == kNone) {
        slot = chunk.next == kNone ? kNone : chunk.next * 4;
        continue;
      }
      return slot;
    }
    return kNone;
  }
  uint32_t FirstSlot(List list) const {
    return list.head == kNone ? kNone : NextSlot(list.head * 4);
  }
  uint32_t entry(uint32_t slot) const { return chunks_[slot / 4].entries[slot % 4]; }

  void Replace(uint32_t slot, uint32_t entry) { chunks_.WriteWord(slot, entry); }

  // Calls visit(entry) for those of the list, and perhaps for some appended since to the list that
  // it became a part of.
  template <typename Visit>
  void ForEach(List list, const Visit& visit) const {
    if (list.head == kNone) return;
    for (uint32_t at = list.head;; at = chunks_[at].next) {
      const Chunk chunk = chunks_[at];
      for (uint32_t entry : chunk.entries) {
        if (entry != kNone) visit(entry);
      }
      if (at == list.tail / 4) return;
    }
  }

  void PrefetchHead(List list) const {
    if (list.head != kNone) __builtin_prefetch(&chunks_.data()[list.head]);
  }
  // Where the next entry goes.
  void PrefetchTail(List list) const {
    if (list.head != kNone) __builtin_prefetch(&chunks_.data()[list.tail / 4], 1);
  }

  // For images of the whole.
  FlatArray<Chunk>& chunks() { return chunks_; }
  const FlatArray<Chunk>& chunks() const { return chunks_; }

 private:
  FlatArray<Chunk> chunks_;
};

}  // namespace quotient::egraph
