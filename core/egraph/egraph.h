#pragma once

// E-graph: a set of terms with an equivalence closed under congruence. Knows nothing of tensors: a
// domain supplies what an operator word means (OpTable) and what is known about a class
// (Analysis).
//
//   EGraph graph(&table, &analysis);
//   ClassId x = *graph.Add(op_x, {});
//   ClassId fx = *graph.Add(op_f, {x});
//   graph.Union(fx, x, origin);
//   graph.Rebuild();                       // now f(f(x)) = x too
//
// After Union, and after an Add that made an e-node, the graph is *dirty*: only Find, Lookup and
// what adds, unites or prunes are allowed until Rebuild. Changes from one thread; a clean graph may
// be read by many. E-nodes are never moved or renumbered; one that congruence made a duplicate is
// no longer live. References: Willsey et al., "egg: Fast and extensible equality saturation",
// POPL'21.

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
  std::span<const ClassId> children;  // canonical when the graph is clean
};

// A union that changed the graph.
struct UnionRecord {
  ClassId a;
  ClassId b;
  Origin origin;
  friend bool operator==(const UnionRecord&, const UnionRecord&) = default;
};

// What to do about a class that would contain itself: a term of it is a proper part of another.
enum class Cycles {
  kAllowed,
  // E-nodes through which it would are marked. The others never close a cycle, and every class has
  // some of them.
  kMarked,
  // The union is refused. One that congruence implies makes Rebuild fail: roll back.
  kRefused,
};

class EGraph {
 public:
  // Borrows both; `analysis` may be null.
  EGraph(const OpTable* table, Analysis* analysis);
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // The class of op(children), a new one if the e-node is new. Errors are the analysis's, and
  // RESOURCE_EXHAUSTED when ids run out (2^28 e-nodes, 2^24 operator words). `children` may point
  // into this graph.
  absl::StatusOr<ClassId> Add(OpId op, std::span<const ClassId> children,
                              Origin origin = kInputOrigin);
  // The same as Add and Union with `id`, but a new e-node does without a class of its own, if
  // nothing wants one (analysis, proofs, cycles). True if the graph changed.
  absl::StatusOr<bool> AddTo(ClassId id, OpId op, std::span<const ClassId> children,
                             Origin origin = kInputOrigin);
  // The class of op(children) if that e-node exists. In a dirty graph it may be missed.
  std::optional<ClassId> Lookup(OpId op, std::span<const ClassId> children) const;
  ENodeId LookupNode(OpId op, std::span<const ClassId> children) const;

  // Makes both classes one; true if they were not yet. Dirty afterwards. Errors leave the graph as
  // it was, but for levels: the analysis's, and FAILED_PRECONDITION for a cycle that is refused.
  absl::StatusOr<bool> Union(ClassId a, ClassId b, Origin origin = kInputOrigin);
  // The last union that the analysis refused: which rule is wrong, and of what. See explain.h.
  const std::optional<UnionRecord>& refused_union() const { return refused_union_; }
  void ForgetRefusedUnion() { refused_union_.reset(); }
  // Restores congruence in time proportional to what changed. A union it implies may be refused by
  // the analysis: that error, and the graph must no longer be used unless it is rolled back.
  absl::Status Rebuild();
  bool dirty() const { return dirty_; }
  // From the next Rebuild on, of this class and of what it is merged into only e-nodes without
  // children are live, of which it must have one. The others still take part in congruence and are
  // found by Add.
  void PruneToLeaves(ClassId id);

  // Before the first Add. Detection is exact and its cost local: see cycles.cc.
  void WatchCycles(Cycles policy) { cycles_ = policy; }
  // Whether the e-node was marked.
  bool on_cycle(ENodeId id) const { return rows_[id.value()].on_cycle(); }
  // A number above that of the children of all e-nodes of the class that are not marked. Needs
  // WatchCycles.
  uint32_t level(ClassId id) const { return levels_[Find(id).value()].value; }

  // Keeps a number that tells states apart, see state_hash.h. Before the first Add.
  void KeepHash() { state_hash_ = std::make_unique<StateHash>(&trail_); }
  // Of a clean graph that keeps it.
  uint64_t state_hash() { return state_hash_->ValueOf(*this); }

  // From now on what explanations need is recorded (explain.h). Before the first Add.
  void RecordProofs() { records_proofs_ = true; }
  bool records_proofs() const { return records_proofs_; }
  // A rule's match is about to change the graph: its classes and operator words, as they were
  // found. Rules call it before they unite.
  void RecordApplication(Origin origin, std::span<const uint32_t> classes,
                         std::span<const uint32_t> ops);

  // Time travel, in time proportional to what changed. Marks nest; a clean graph only.
  void Mark();
  // To the state at the last mark, which is gone; also from a dirty graph and after an error.
  void Rollback();
  // Drops the last mark and keeps the changes.
  void Forget();
  size_t num_marks() const { return trail_.num_marks(); }
  // Everything as one flat image, without the analysis. Load wants no marks and an image of a graph
  // over the same operator words of which the same is kept (hash, levels, proofs); its matchers
  // begin anew. Clean graphs only.
  std::vector<uint32_t> Save() const {
    std::vector<uint32_t> image;
    Save(image);
    return image;
  }
  // Into memory that is there already; what was in `image` is gone.
  void Save(std::vector<uint32_t>& image) const;
  void Load(std::span<const uint32_t> image);

  // The canonical class; logarithmic time.
  ClassId Find(ClassId id) const { return union_find_.Find(id); }

  // About so many e-nodes are coming: saves growing bit by bit.
  void ExpectNodes(size_t count);

  // E-nodes and classes that are live (canonical, congruence-closed). Clean graphs only.
  int64_t num_enodes() const { return num_enodes_; }
  int64_t num_classes() const { return num_classes_; }
  // One more than the largest ClassId ever given out: size for side tables.
  uint32_t class_bound() const { return union_find_.size(); }
  uint32_t enode_bound() const { return rows_.size(); }

  // Ranges of a clean graph, valid until it changes; see ranges.h. Their size() walks through them.
  //
  // Canonical classes in increasing order of id.
  ClassRange classes() const;
  // Live e-nodes of a class, the newest first, those of the class that was kept before others.
  MemberRange nodes(ClassId id) const;
  // Live e-nodes that have this class as a child, each once.
  ParentRange parents(ClassId id) const;
  // Live e-nodes of a kind, in order of creation. Looks at all e-nodes.
  KindRange nodes_of_kind(KindId kind) const;

  // Valid until the next Add, Union or Rebuild.
  ENodeView node(ENodeId id) const { return {rows_[id.value()].op(), ChildrenOf(id)}; }
  ClassId class_of(ENodeId id) const { return Find(rows_[id.value()].cls); }
  KindId kind(ENodeId id) const { return kind_of_op_[rows_[id.value()].op().value()]; }
  Origin origin(ENodeId id) const { return origin_[id.value()].value; }
  bool live(ENodeId id) const { return rows_[id.value()].live(); }
  // All unions so far, oldest first. Needs RecordProofs.
  std::span<const UnionRecord> unions() const { return unions_.span(); }

  // What was recorded, oldest first.
  struct Application {
    Origin origin;
    size_t unions_before;  // how many of unions() are older
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
  // Visits each e-node by the children that it was added with.
  template <typename Visit>
  void ForEachBirth(const Visit& visit) const {
    size_t first = 0;
    for (const Row& row : rows_.span()) {
      const size_t count = row.listed() ? row.child[1].value() : row.arity();
      visit(row.op(), born_children_.span().subspan(first, count));
      first += count;
    }
  }

  // What incremental matching starts from: e-nodes that are new, or whose children or class became
  // others, in the order of change_log.h. Some may not be live. Clean graphs only.
  const ChangeLog& changes() const { return changes_; }
  // For the one who matches incrementally (Matcher): puts those since the last acknowledgement in
  // order.
  void SortChanges() { changes_.Sort(); }
  // `keep`: somebody will ask for changes from before.
  void AcknowledgeChanges(bool keep = false) { changes_.Acknowledge(keep); }

  // For loops that run millions of times. Of a canonical class: visit(e-node) for its e-nodes,
  // visit(e-node, position) for those that have it as a child, once per position; also e-nodes that
  // are not live.
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
  // Of a link in the chain of a class's uses.
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
  // Of a canonical class; for what its sets of kinds rule out.
  const ClassRow& class_row(ClassId id) const { return classes_[id.value()]; }
  // So small that there are no cache misses for which looking ahead would pay.
  bool fits_in_cache() const { return rows_.size() <= kInCache; }
  // Asks for what a walk around the e-node will look at: the heads of chains, where they begin, and
  // what comes second, each of which needs the one before.
  void PrefetchHeads(ENodeId id) const;
  void PrefetchFirst(ENodeId id) const;
  void PrefetchSecond(ENodeId id) const;
  void PrefetchClass(ClassId id) const { __builtin_prefetch(&classes_[Find(id).value()], 1); }

  // Add and AddTo for a caller who has many e-nodes to add, of at most two children: Prepare has
  // the cache misses of all of them under way together, then each is added. In between others may
  // be added and classes united.
  struct Probe {
    OpId op;
    uint32_t num_children;
    ClassId children[2];  // invalid where there is none
    // What Prepare finds out: the key, and how many unions there were.
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
  // Calls visit(use) for what begins and ends there.
  template <typename Visit>
  void ForEachUseBetween(UseId first, UseId last, const Visit& visit) const {
    for (UseId at = first; at.valid(); at = at == last ? UseId() : NextUse(at)) visit(at);
  }

  ENodeId LinkMember(ClassId id, uint32_t kind_bit, ENodeId node);
  UseId LinkUse(ClassId child, KindId kind, size_t position, UseId use);
  void LinkList(Row& row, KindId kind, std::span<const ClassId> children, ENodeId node);
  void RememberBirth(std::span<const ClassId> children);
  void JoinChains(ClassId kept, const ClassRow& from);
  // Of an application that was refused.
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
  // The e-node of this content for which accept(id) holds.
  template <typename Accept>
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children,
                   const Accept& accept) const;
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const {
    return FindNode(hash, op, children, [](ENodeId) { return true; });
  }
  bool HasRoom(OpId op, size_t num_children) const;
  // The e-node must be new; `children` and the class canonical.
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
  // Sorted, canonical, each once.
  void MakeCanonical(std::vector<ClassId>& ids) const;
  // Calls visit on every array, in one order.
  template <typename Self, typename Visit>
  static void VisitArrays(Self& self, const Visit& visit);

  struct Word {
    uint32_t value;
  };
  // Scalars of a clean graph, kept for each mark.
  struct Counts {
    int64_t num_enodes;
    int64_t num_classes;
    uint32_t op_bound;
    ChangeLog::Counts changes;
  };

  static constexpr uint32_t kInCache = 1u << 13;  // rows; with classes and slots 640 KB

  const OpTable* table_;
  Analysis* analysis_;
  Trail trail_;

  // E-nodes, by ENodeId.
  FlatArray<Row> rows_;
  FlatArray<Word> origin_;
  FlatArray<ClassId> list_children_;  // of e-nodes with more than two
  FlatArray<ListedUse> list_uses_;    // parallel
  HashCons hash_cons_;

  // Classes, by ClassId; of the canonical ones if not said otherwise.
  UnionFind union_find_;  // all
  FlatArray<ClassRow> classes_;
  FlatArray<UnionRecord> unions_;
  ChangeLog changes_;
  FlatArray<ClassId> born_children_;  // of all e-nodes; with the next one, the record of proofs
  FlatArray<Word> applications_;      // origin, unions before, numbers of classes and ops, both
  bool records_proofs_ = false;
  std::unique_ptr<StateHash> state_hash_;  // null: not wanted
  Cycles cycles_ = Cycles::kAllowed;
  FlatArray<Word> levels_;  // by ClassId; none if cycles are allowed
  int64_t num_enodes_ = 0;
  int64_t num_classes_ = 0;
  uint32_t op_bound_ = 0;  // operator words of e-nodes are below it
  std::vector<Counts> counts_at_mark_;

  // What Rebuild has to look at; nothing in a clean graph.
  std::vector<ClassId> to_repair_;  // absorbed; what they brought stays one piece of the chains
  std::vector<ENodeId> repair_queue_;
  std::vector<ClassId> to_modify_;
  std::vector<ClassId> to_prune_;
  std::vector<ClassId> to_thin_out_;  // chains with many duplicates
  bool dirty_ = false;

  std::optional<UnionRecord> refused_union_;
  uint32_t last_application_ = 0;   // word in applications_
  std::vector<KindId> kind_of_op_;  // by OpId; invalid: not asked yet
  std::vector<ClassId> scratch_;    // canonical children of what Add is asked for
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
