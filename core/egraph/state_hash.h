#pragma once

// StateHash: one number for all that an e-graph knows, whatever order it was learnt in. Two graphs
// get the same number if they hold the same e-nodes in the same classes, however their ids differ
// (and else, but for collisions of 64 bits, different ones). So a search recognises a state that it
// reaches again in another order of rules.
//
// A class is named by its flattest term: of all terms of least height in it, the one of least hash.
// That is well-founded, for the children of such a term are flatter, and no two classes have a term
// in common. The number is the sum over live e-nodes of a hash of operator word, children's names
// and class's name. Who asks for it pays for what changed since it was asked for last.

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

  // Of a clean graph.
  uint64_t ValueOf(const EGraph& graph);

  // The e-node is new or no longer live, or its class or children became others.
  void Touch(ENodeId id) { touched_.push_back(id); }

  // Two classes of a graph become one. So that heights never rise: what rises along a cycle of
  // classes would rise for long.
  void Unite(const EGraph& graph, ClassId kept, ClassId absorbed);

  // For images of the whole.
  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit) {
    visit(self.names_);
    visit(self.rows_);
    visit(self.touched_);
    visit(self.total_);
  }

 private:
  // A set of small numbers that is emptied in no time.
  class IdSet {
   public:
    // Empty, for numbers below the bound.
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
    // May be added again, and is among those added still.
    void Remove(uint32_t id) { stamp_[id] = 0; }
    // In the order in which they were.
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
  // At least the height; exactly it when the value was just asked for.
  struct ClassName {
    uint32_t height = 0xffffffffu;  // not known yet
    Bits hash;
    ENodeId node;  // whose term it is; invalid: not known, although the height is
    friend bool operator==(const ClassName&, const ClassName&) = default;
  };

  uint64_t HashOfWord(const EGraph& graph, OpId op);
  uint64_t HashOfTerm(const EGraph& graph, ENodeId node);
  // Of the e-node's term; the height is not known if it is not live or a child has no name.
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

  FlatArray<ClassName> names_;  // by ClassId, of canonical classes
  FlatArray<Bits> rows_;        // by ENodeId: what it adds to the total
  FlatArray<ENodeId> touched_;
  // One element.
  struct Total {
    Bits bits;
    uint32_t seen = 0;  // of touched_
  };
  FlatArray<Total> total_;
  std::vector<uint64_t> word_hashes_;  // by OpId; 0: not known yet
  // Of Update alone.
  IdSet outdated_rows_;  // ENodeId
  IdSet queued_;         // ENodeId
  // Those, by the heights that their classes had when they were queued. Lower ones come first.
  std::vector<Queue> levels_;
  Queue unknown_;
  uint32_t lowest_ = 0;  // level; those below are empty
};

}  // namespace quotient::egraph
