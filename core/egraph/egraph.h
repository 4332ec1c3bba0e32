#pragma once

// An e-graph represents a set of terms together with an equivalence relation that is closed under
// congruence. It knows nothing about tensors: a domain supplies the meaning of operator words
// (OpTable) and the facts known about each class (Analysis).
//
//   EGraph graph(&table, &analysis);
//   ClassId x = *graph.Add(op_x, {});
//   ClassId fx = *graph.Add(op_f, {x});
//   graph.Union(fx, x, origin);
//   graph.Rebuild();                       // now f(f(x)) = x too
//
// After a Union, or an Add that made an e-node, the graph is *dirty*: until Rebuild only Find,
// Lookup and the methods that add, unite or prune may be called. One thread may change the graph;
// any number may read a clean one. E-nodes are never moved or renumbered. When two become
// congruent, the younger is marked as a duplicate and is no longer live.
//
// Reference: Willsey et al., "egg: Fast and extensible equality saturation", POPL'21.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/egraph/analysis.h"
#include "core/egraph/change_log.h"
#include "core/egraph/flat_array.h"
#include "core/egraph/hash_cons.h"
#include "core/egraph/ids.h"
#include "core/egraph/row.h"
#include "core/egraph/state_hash.h"
#include "core/egraph/trail.h"
#include "core/egraph/union_find.h"

namespace quotient::egraph {

class ClassRange;
template <typename Chain>
class ChainRange;
class MemberChain;
class KindChain;
class UseChain;
using MemberRange = ChainRange<MemberChain>;
using KindRange = ChainRange<KindChain>;
using ParentRange = ChainRange<UseChain>;

struct ENodeView {
  OpId op;
  std::span<const ClassId> children;  // Canonical if the graph is clean.
};

// A union that changed the graph.
struct UnionRecord {
  ClassId a;
  ClassId b;
  Origin origin;
  friend bool operator==(const UnionRecord&, const UnionRecord&) = default;
};

// What to do when a union would make a class contain itself, so that one term of the class is a
// proper subterm of another.
enum class Cycles {
  kAllowed,
  // The e-nodes that would close the cycle are marked. The unmarked e-nodes are acyclic, and every
  // class keeps at least one of them.
  kMarked,
  // The union is refused. If congruence implies such a union, Rebuild fails and the graph must be
  // rolled back.
  kRefused,
};

class EGraph {
 public:
  // Borrows both; `analysis` may be null.
  EGraph(const OpTable* table, Analysis* analysis);
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // Returns the class of op(children), which is a new class if the e-node is new. Fails with an
  // error of the analysis, or with RESOURCE_EXHAUSTED when ids run out (2^28 e-nodes, 2^24 operator
  // words). `children` may point into this graph.
  absl::StatusOr<ClassId> Add(OpId op, std::span<const ClassId> children,
                              Origin origin = kInputOrigin);
  // Has the effect of Add followed by a Union with `id`, but a new e-node goes straight into `id`
  // unless the analysis, proofs or cycle detection need a class for it. Returns whether the graph
  // changed.
  absl::StatusOr<bool> AddTo(ClassId id, OpId op, std::span<const ClassId> children,
                             Origin origin = kInputOrigin);
  // Returns the class of op(children) if that e-node exists. May miss it in a dirty graph.
  std::optional<ClassId> Lookup(OpId op, std::span<const ClassId> children) const;
  ENodeId LookupNode(OpId op, std::span<const ClassId> children) const;

  // Makes both classes one, and returns whether they were different. The graph is then dirty. Fails
  // with an error of the analysis, or with FAILED_PRECONDITION if a cycle is refused; either leaves
  // the graph unchanged, except that levels may have risen.
  absl::StatusOr<bool> Union(ClassId a, ClassId b, Origin origin = kInputOrigin);
  // The last union that the analysis refused, from which explain.h finds the rule that is wrong.
  const std::optional<UnionRecord>& refused_union() const { return refused_union_; }
  void ForgetRefusedUnion() { refused_union_.reset(); }
  // Restores congruence, in time proportional to what changed. Fails if the analysis refuses a
  // union that congruence implies; the graph must then be rolled back before it is used again.
  absl::Status Rebuild();
  bool dirty() const { return dirty_; }
  // From the next Rebuild on, only the e-nodes without children are live in this class and in any
  // class it is merged into. The class must have such an e-node. The others still take part in
  // congruence and are still found by Add.
  void PruneToLeaves(ClassId id);

  // Call before the first Add. Detection is exact and local; cycles.cc has the algorithm.
  void WatchCycles(Cycles policy) { cycles_ = policy; }
  // Whether the e-node was marked because it closes a cycle.
  bool on_cycle(ENodeId id) const { return rows_[id.value()].on_cycle(); }
  // A number greater than the levels of the children of all unmarked e-nodes of the class. Needs
  // WatchCycles.
  uint32_t level(ClassId id) const { return levels_[Find(id).value()].value; }

  // Maintains a hash of the state (state_hash.h). Call before the first Add.
  void KeepHash() { state_hash_ = std::make_unique<StateHash>(&trail_); }
  // Needs KeepHash and a clean graph.
  uint64_t state_hash() { return state_hash_->ValueOf(*this); }

  // Records what explanations need (explain.h). Call before the first Add.
  void RecordProofs() { records_proofs_ = true; }
  bool records_proofs() const { return records_proofs_; }
  // Records that a match of rule `origin` is about to change the graph, with the classes and
  // operator words of the match as they were found. A rule calls this before it unites.
  void RecordApplication(Origin origin, std::span<const uint32_t> classes,
                         std::span<const uint32_t> ops);

  // Marks and rollbacks take time proportional to what changed. Marks nest; the graph must be
  // clean.
  void Mark();
  // Returns to the last mark and removes it. Allowed in a dirty graph and after an error.
  void Rollback();
  // Removes the last mark and keeps the changes made since.
  void Forget();
  size_t num_marks() const { return trail_.num_marks(); }
  // The whole state as one flat image, without the analysis. The graph must be clean. Load needs a
  // graph without marks that has the same operator words and keeps the same extras (hash, levels,
  // proofs) as the saved one; matchers of the graph must start over.
  std::vector<uint32_t> Save() const {
    std::vector<uint32_t> image;
    Save(image);
    return image;
  }
  // Overwrites `image` and reuses its memory.
  void Save(std::vector<uint32_t>& image) const;
  void Load(std::span<const uint32_t> image);

  // The canonical class, in logarithmic time.
  ClassId Find(ClassId id) const { return union_find_.Find(id); }

  // Reserves room in the hash-cons for about `count` more e-nodes.
  void ExpectNodes(size_t count);

  // Numbers of live e-nodes and of canonical classes. Clean graphs only.
  int64_t num_enodes() const { return num_enodes_; }
  int64_t num_classes() const { return num_classes_; }
  // One more than the largest ClassId given out so far: the size for arrays indexed by class.
  uint32_t class_bound() const { return union_find_.size(); }
  uint32_t enode_bound() const { return rows_.size(); }

  // The ranges below need a clean graph and are valid until it changes; see ranges.h. Their size()
  // takes linear time, except that of ClassRange.
  //
  // Canonical classes by increasing id.
  ClassRange classes() const;
  // Live e-nodes of a class. Newest first, but after a union those of the kept class come first.
  MemberRange nodes(ClassId id) const;
  // Live e-nodes that have this class as a child, each once.
  ParentRange parents(ClassId id) const;
  // Live e-nodes of a kind in order of creation. Looks at every e-node of the graph.
  KindRange nodes_of_kind(KindId kind) const;

  // Valid until the next Add, Union or Rebuild.
  ENodeView node(ENodeId id) const { return {rows_[id.value()].op(), ChildrenOf(id)}; }
  ClassId class_of(ENodeId id) const { return Find(rows_[id.value()].cls); }
  KindId kind(ENodeId id) const { return kind_of_op_[rows_[id.value()].op().value()]; }
  Origin origin(ENodeId id) const { return origin_[id.value()].value; }
  bool live(ENodeId id) const { return rows_[id.value()].live(); }
  // All unions so far, oldest first. Needs RecordProofs.
  std::span<const UnionRecord> unions() const { return unions_.span(); }

  // A recorded rule application. ForEachApplication visits them oldest first.
  struct Application {
    Origin origin;
    size_t unions_before;  // Number of unions() that precede it.
    std::span<const uint32_t> classes;
    std::span<const uint32_t> ops;
  };
  template <typename Visit>
  void ForEachApplication(const Visit& visit) const {
    const std::span<const uint32_t> words = applications_.words();
    for (size_t i = 0; i < words.size();) {
      const size_t classes = words[i + 2], ops = words[i + 3];
      if (words[i] != kVoidOrigin) {
        visit(Application{words[i], words[i + 1], words.subspan(i + 4, classes),
                          words.subspan(i + 4 + classes, ops)});
      }
      i += 4 + classes + ops;
    }
  }
  // Calls visit(op, children) for each e-node with the children that it was added with.
  template <typename Visit>
  void ForEachBirth(const Visit& visit) const {
    size_t first = 0;
    for (const Row& row : rows_.span()) {
      const size_t count = row.listed() ? row.child[1].value() : row.arity();
      visit(row.op(), born_children_.span().subspan(first, count));
      first += count;
    }
  }

  // The e-nodes that are new or whose children or class changed, in the order of change_log.h. Some
  // may not be live. Incremental matching starts from them. Clean graphs only.
  const ChangeLog& changes() const { return changes_; }
  // Sorts the changes since the last acknowledgement, for an incremental Matcher.
  void SortChanges() { changes_.Sort(); }
  // `keep` says that changes from before this call will still be asked for.
  void AcknowledgeChanges(bool keep = false) { changes_.Acknowledge(keep); }

  // For loops that run millions of times; `id` must be canonical. ForEachMember calls visit(e-node)
  // for the e-nodes of the class, ForEachUse calls visit(e-node, position) for each child position
  // that holds the class. Both include e-nodes that are not live.
  template <typename Visit>
  void ForEachMember(ClassId id, const Visit& visit) const {
    for (ENodeId at = classes_[id.value()].first_member; at.valid();) {
      const ENodeId next = rows_[at.value()].next_member;
      if (next.valid()) __builtin_prefetch(&rows_[next.value()]);
      visit(at);
      at = next;
    }
  }
  template <typename Visit>
  void ForEachUse(ClassId id, const Visit& visit) const {
    for (UseId at = classes_[id.value()].first_use; at.valid();) {
      const UseId next = NextUse(at);
      if (next.valid() && !next.listed()) __builtin_prefetch(&rows_[next.node().value()]);
      visit(NodeOf(at), PositionOf(at));
      at = next;
    }
  }
  // The e-node, the child position and the next link of a link in a class's chain of uses.
  ENodeId NodeOf(UseId use) const {
    return use.listed() ? list_uses_[use.place()].node : use.node();
  }
  uint32_t PositionOf(UseId use) const {
    if (!use.listed()) return use.position();
    return use.place() - rows_[list_uses_[use.place()].node.value()].child[0].value();
  }
  UseId NextUse(UseId use) const {
    return use.listed() ? list_uses_[use.place()].next
                        : rows_[use.node().value()].next_use[use.position()];
  }
  const Row& row(ENodeId id) const { return rows_[id.value()]; }
  // `id` must be canonical. The sets of kinds in the row rule out many walks beforehand.
  const ClassRow& class_row(ClassId id) const { return classes_[id.value()]; }
  // Whether the graph is so small that prefetching does not pay.
  bool fits_in_cache() const { return rows_.size() <= kInCache; }
  // Prefetch what a walk around the e-node will read, in three stages that each need the one
  // before: the heads of the chains, their first links, their second links.
  void PrefetchHeads(ENodeId id) const;
  void PrefetchFirst(ENodeId id) const;
  void PrefetchSecond(ENodeId id) const;
  void PrefetchClass(ClassId id) const { __builtin_prefetch(&classes_[Find(id).value()], 1); }

  // Batched Add and AddTo for e-nodes with at most two children. Prepare overlaps the cache misses
  // of all probes; AddPrepared or AddPreparedTo then adds each one. Other e-nodes may be added and
  // classes united in between.
  struct Probe {
    OpId op;
    uint32_t num_children;
    ClassId children[2];  // Invalid where there is no child.
    // Filled in by Prepare: the hash of the key, and the number of unions at that time.
    uint32_t hash;
    uint32_t unions;
  };
  void Prepare(std::span<Probe> probes) const;
  absl::StatusOr<ClassId> AddPrepared(const Probe& probe, Origin origin);
  absl::StatusOr<bool> AddPreparedTo(ClassId id, const Probe& probe, Origin origin);

  const OpTable& table() const { return *table_; }

 private:
  friend class UseChain;

  void SetNextUse(UseId use, UseId next);
  // Calls visit(use) for the links from `first` to `last`.
  template <typename Visit>
  void ForEachUseBetween(UseId first, UseId last, const Visit& visit) const {
    for (UseId at = first; at.valid(); at = at == last ? UseId() : NextUse(at)) visit(at);
  }

  ENodeId LinkMember(ClassId id, uint32_t kind_bit, ENodeId node);
  UseId LinkUse(ClassId child, KindId kind, size_t position, UseId use);
  void LinkList(Row& row, KindId kind, std::span<const ClassId> children, ENodeId node);
  void RememberBirth(std::span<const ClassId> children);
  void JoinChains(ClassId kept, const ClassRow& from);
  // Origin of a recorded application that was refused.
  static constexpr Origin kVoidOrigin = 0xffffffffu;
  void VoidApplication(Origin origin);

  std::span<const ClassId> ChildrenOf(ENodeId id) const {
    const Row& row = rows_[id.value()];
    if (!row.listed()) return {row.child, row.arity()};
    return list_children_.span().subspan(row.child[0].value(), row.child[1].value());
  }
  uint32_t num_unions() const { return union_find_.size() - static_cast<uint32_t>(num_classes_); }
  bool Outdated(const Probe& probe) const;
  ENodeId FindPrepared(const Probe& probe) const;
  // Finds an e-node with this content for which accept(id) holds.
  template <typename Accept>
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children,
                   const Accept& accept) const;
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const {
    return FindNode(hash, op, children, [](ENodeId) { return true; });
  }
  bool HasRoom(OpId op, size_t num_children) const;
  // The e-node must be new; `children` and the class must be canonical.
  ENodeId InsertNode(uint32_t hash, OpId op, std::span<const ClassId> children, ClassId id,
                     Origin origin);
  ClassId MakeClass();
  absl::StatusOr<bool> InsertTo(ClassId id, uint32_t hash, OpId op,
                                std::span<const ClassId> children, Origin origin);
  absl::StatusOr<bool> InsertObserved(ClassId id, uint32_t hash, OpId op,
                                      std::span<const ClassId> children, Origin origin);
  ENodeId InsertInto(ClassId id, uint32_t hash, OpId op, std::span<const ClassId> children,
                     Origin origin);
  absl::StatusOr<ClassId> Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                 Origin origin);
  bool MakeRoomInHashCons();
  void ForgetWork();
  KindId KindOf(OpId op) {
    const bool known = op.value() < kind_of_op_.size() && kind_of_op_[op.value()].valid();
    return known ? kind_of_op_[op.value()] : RememberKind(op);
  }
  KindId RememberKind(OpId op);
  void MarkChanged(ENodeId id);
  void Touch(ENodeId id) {
    if (state_hash_ != nullptr) state_hash_->Touch(id);
  }
  void SetHead(ENodeId id, uint32_t bits) {
    rows_.Write(id.value(), &Row::head, rows_[id.value()].head | bits);
  }
  void ClearHead(ENodeId id, uint32_t bits) {
    rows_.Write(id.value(), &Row::head, rows_[id.value()].head & ~bits);
  }

  bool IsOrdered(ENodeId id) const;
  template <typename Visit>
  void ForEachOrderedParent(ClassId id, const Visit& visit) const;
  uint32_t LevelAbove(std::span<const ClassId> children) const;
  bool Raise(ClassId id, uint32_t level, ClassId forbidden);
  void MarkCycles(ClassId below, ClassId above);
  absl::Status KeepOrder(ClassId a, ClassId b);

  absl::Status RestoreCongruence();
  void MoveMembers(const ClassRow& absorbed);
  absl::Status RepairNodes();
  bool Canonicalize(ENodeId id);
  absl::Status Rekey(ENodeId id, uint32_t hash);
  absl::Status UpdateParentsOf(ClassId id);
  void MarkChangedAround(ClassId id);
  absl::Status RunAnalysis();
  void HidePruned();
  void CountDuplicate(ENodeId id);
  void DropDuplicates();
  void DropDuplicatesOf(ClassId id);
  // Replaces ids by their canonical ones, sorts them and removes repetitions.
  void MakeCanonical(std::vector<ClassId>& ids) const;
  // Calls visit on every array, always in the same order.
  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit);

  struct Word {
    uint32_t value;
  };
  // Counts that Rollback restores, saved at each mark.
  struct Counts {
    int64_t num_enodes;
    int64_t num_classes;
    uint32_t op_bound;
    ChangeLog::Counts changes;
  };

  // Number of rows up to which the graph is taken to fit the cache: with classes and slots, 640 KB.
  static constexpr uint32_t kInCache = 1u << 13;

  const OpTable* table_;
  Analysis* analysis_;
  Trail trail_;

  // --- E-nodes, by ENodeId
  FlatArray<Row> rows_;
  FlatArray<Word> origin_;
  FlatArray<ClassId> list_children_;  // Children of e-nodes with more than two.
  FlatArray<ListedUse> list_uses_;    // Parallel to list_children_.
  HashCons hash_cons_;

  // --- Classes, by ClassId; only canonical ones are valid unless noted
  UnionFind union_find_;  // Also has the ids that were absorbed.
  FlatArray<ClassRow> classes_;
  FlatArray<UnionRecord> unions_;
  ChangeLog changes_;
  FlatArray<ClassId> born_children_;  // As added, of all e-nodes; filled if records_proofs_.
  FlatArray<Word> applications_;      // Origin, unions before, two lengths, classes, ops.
  bool records_proofs_ = false;
  std::unique_ptr<StateHash> state_hash_;  // Null unless KeepHash was called.
  Cycles cycles_ = Cycles::kAllowed;
  FlatArray<Word> levels_;  // By ClassId; empty if cycles are allowed.
  int64_t num_enodes_ = 0;
  int64_t num_classes_ = 0;
  uint32_t op_bound_ = 0;  // Greater than all operator words in use.
  std::vector<Counts> counts_at_mark_;

  // --- Work for Rebuild; empty in a clean graph
  std::vector<ClassId> to_repair_;  // Absorbed classes, whose links are still one piece of chain.
  std::vector<ENodeId> repair_queue_;
  std::vector<ClassId> to_modify_;
  std::vector<ClassId> to_prune_;
  std::vector<ClassId> to_thin_out_;  // Classes whose chains have many duplicates.
  bool dirty_ = false;

  std::optional<UnionRecord> refused_union_;
  uint32_t last_application_ = 0;   // Index of its first word in applications_.
  std::vector<KindId> kind_of_op_;  // By OpId; invalid if not asked for yet.
  std::vector<ClassId> scratch_;    // Canonical children of the e-node being added.
};

template <typename Accept>
ENodeId EGraph::FindNode(uint32_t hash, OpId op, std::span<const ClassId> children,
                         const Accept& accept) const {
  const uint32_t key = Row::Key(op, children.size());
  if (children.size() > 2) {
    return hash_cons_.Find(hash, [&](ENodeId candidate) {
      return rows_[candidate.value()].key() == key &&
             std::ranges::equal(ChildrenOf(candidate), children) && accept(candidate);
    });
  }
  const ClassId first = children.empty() ? ClassId() : children[0];
  const ClassId second = children.size() < 2 ? ClassId() : children[1];
  return hash_cons_.Find(hash, [&](ENodeId candidate) {
    return rows_[candidate.value()].Holds(key, first, second) && accept(candidate);
  });
}

}  // namespace quotient::egraph

#include "core/egraph/ranges.h"
