#pragma once

// StateHash computes one number for everything an e-graph knows, independent of the order in which
// it was learned. Two graphs get the same number if they hold the same e-nodes in the same classes,
// whatever their ids; otherwise the numbers differ, except for collisions of 64 bits. With it a
// search recognizes a state that it reaches again by applying rules in another order.
//
// A class is named by its flattest term: among its terms of least height, the one of least hash.
// This is well-founded because the children of such a term are flatter, and unique because no two
// classes share a term. The state's hash is the sum over live e-nodes of a hash of operator word,
// children's names and class's name. Asking for it costs time for what changed since it was last
// asked for.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class EGraph;

class StateHash {
 public:
  explicit StateHash(Trail* trail) : names_(trail), rows_(trail), touched_(trail), total_(trail) {
    total_.push_back({});
  }

  // The graph must be clean.
  uint64_t ValueOf(const EGraph& graph);

  // Call for an e-node that is new, no longer live, or whose class or children changed.
  void Touch(ENodeId id) { touched_.push_back(id); }

  // Call before two classes are united. It lets the kept class take the smaller height at
  // once, so that heights never rise: on a cycle of classes they would rise without end.
  void Unite(const EGraph& graph, ClassId kept, ClassId absorbed);

 private:
  // A set of small numbers that is emptied in constant time.
  class IdSet {
   public:
    // Empties the set and admits numbers below `bound`.
    void Begin(size_t bound) {
      if (bound > stamp_.size()) stamp_.resize(bound, 0);
      if (++now_ == 0) {
        std::ranges::fill(stamp_, 0);
        now_ = 1;
      }
      added_.clear();
    }
    bool Add(uint32_t id) {
      if (stamp_[id] == now_) return false;
      stamp_[id] = now_;
      added_.push_back(id);
      return true;
    }
    // Lets `id` be added again. It stays in added().
    void Remove(uint32_t id) { stamp_[id] = 0; }
    // In the order in which they were added.
    std::span<const uint32_t> added() const { return added_; }

   private:
    std::vector<uint32_t> stamp_;
    uint32_t now_ = 0;
    std::vector<uint32_t> added_;
  };
  // First in, first out.
  class Queue {
   public:
    bool empty() const { return next_ == nodes_.size(); }
    void Push(ENodeId node) { nodes_.push_back(node); }
    ENodeId Pop() {
      const ENodeId node = nodes_[next_++];
      if (empty()) {
        nodes_.clear();
        next_ = 0;
      }
      return node;
    }

   private:
    std::vector<ENodeId> nodes_;
    size_t next_ = 0;
  };
  // 64 bits as two words.
  struct Bits {
    uint32_t low = 0;
    uint32_t high = 0;
    Bits() = default;
    explicit Bits(uint64_t bits)
        : low(static_cast<uint32_t>(bits)), high(static_cast<uint32_t>(bits >> 32)) {}
    uint64_t get() const { return uint64_t{high} << 32 | low; }
    friend bool operator==(const Bits&, const Bits&) = default;
  };
  // The height is an upper bound between two calls of ValueOf, and exact after each.
  struct ClassName {
    uint32_t height = 0xffffffffu;  // Unknown.
    Bits hash;
    ENodeId node;  // Whose term it is; invalid if only the height is known.
    friend bool operator==(const ClassName&, const ClassName&) = default;
  };

  uint64_t HashOfWord(const EGraph& graph, OpId op);
  uint64_t HashOfTerm(const EGraph& graph, ENodeId node);
  // The name by the e-node's term; of unknown height if it is not live or a child has no name.
  ClassName NameBy(const EGraph& graph, ENodeId node);
  ClassName NameOf(const EGraph& graph, ClassId id);
  static bool IsLess(const ClassName& a, const ClassName& b) {
    return a.height != b.height ? a.height < b.height : a.hash.get() < b.hash.get();
  }
  void Update(const EGraph& graph, std::span<const ENodeId> touched);
  void TakeIn(const EGraph& graph, ENodeId node);
  ENodeId TakeNext();
  void SetName(const EGraph& graph, ClassId id, const ClassName& name);
  Bits RowOf(const EGraph& graph, ENodeId node);

  FlatArray<ClassName> names_;  // By ClassId, for canonical classes.
  FlatArray<Bits> rows_;        // By ENodeId: what it adds to the total.
  FlatArray<ENodeId> touched_;
  // The only element of total_.
  struct Total {
    Bits bits;
    uint32_t seen = 0;  // How many of touched_ it includes.
  };
  FlatArray<Total> total_;
  std::vector<uint64_t> word_hashes_;  // By OpId; 0: not known yet.
  // --- Used only within Update
  IdSet outdated_rows_;  // ENodeIds whose contribution must be computed again.
  IdSet queued_;         // ENodeIds in levels_ or unknown_.
  // The queued e-nodes by the heights of their classes at that time; low ones come first.
  std::vector<Queue> levels_;
  Queue unknown_;
  uint32_t lowest_ = 0;  // Levels below it are empty.
};

}  // namespace quotient::egraph
