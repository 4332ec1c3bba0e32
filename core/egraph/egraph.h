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
#include "core/egraph/node_store.h"
#include "core/egraph/proof_log.h"
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

class EGraph {
 public:
  // Borrows both; `analysis` may be null.
  EGraph(const OpTable* table, Analysis* analysis);
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // --- Options; call them before the first Add

  // Maintains a hash of the state (state_hash.h).
  void KeepHash() { state_hash_ = std::make_unique<StateHash>(&trail_); }
  // Records what explanations need (explain.h).
  void RecordProofs() { proofs_ = std::make_unique<ProofLog>(&trail_); }

  // --- Adding and uniting

  // Returns the class of op(children), which is a new class if the e-node is new. Fails with an
  // error of the analysis, or with RESOURCE_EXHAUSTED when ids run out (2^28 e-nodes, 2^24 operator
  // words). `children` may point into this graph.
  absl::StatusOr<ClassId> Add(OpId op, std::span<const ClassId> children,
                              Origin origin = kInputOrigin);
  // Has the effect of Add followed by a Union with `id`, but a new e-node goes straight into `id`
  // unless the analysis or proofs need a class for it. Returns whether the graph changed.
  absl::StatusOr<bool> AddTo(ClassId id, OpId op, std::span<const ClassId> children,
                             Origin origin = kInputOrigin);
  // Makes both classes one, and returns whether they were different. The graph is then dirty. Fails
  // with an error of the analysis, which leaves the graph unchanged.
  absl::StatusOr<bool> Union(ClassId a, ClassId b, Origin origin = kInputOrigin);
  // Restores congruence, in time proportional to what changed. Fails if the analysis refuses a
  // union that congruence implies; the graph must then be rolled back before it is used again.
  absl::Status Rebuild();
  bool dirty() const { return dirty_; }
  // From the next Rebuild on, only the e-nodes without children are live in this class and in any
  // class it is merged into. The class must have such an e-node. The others still take part in
  // congruence and are still found by Add. No product code calls this; the term domains of
  // tests/support/egraph need it to fold as MCTS-GEB does.
  void PruneToLeaves(ClassId id);
  // The last union that the analysis refused, from which explain.h finds the rule that is wrong.
  const std::optional<UnionRecord>& refused_union() const { return refused_union_; }
  void ForgetRefusedUnion() { refused_union_.reset(); }

  // Batched Add and AddTo for e-nodes with at most two children (batched_add.cc). Prepare overlaps
  // the cache misses of all probes; AddPrepared or AddPreparedTo then adds each one. Other e-nodes
  // may be added and classes united in between.
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
  // Reserves room in the hash-cons for about `count` more e-nodes.
  void ExpectNodes(size_t count);

  // --- Marks (state.cc)

  // Marks and rollbacks take time proportional to what changed. Marks nest; the graph must be
  // clean.
  void Mark();
  // Returns to the last mark and removes it. Allowed in a dirty graph and after an error.
  void Rollback();
  // Removes the last mark and keeps the changes made since.
  void Forget();
  size_t num_marks() const { return trail_.num_marks(); }

  // --- Looking up; also in a dirty graph

  // The canonical class, in logarithmic time.
  ClassId Find(ClassId id) const { return union_find_.Find(id); }
  // Returns the class of op(children) if that e-node exists. May miss it in a dirty graph.
  std::optional<ClassId> Lookup(OpId op, std::span<const ClassId> children) const;
  ENodeId LookupNode(OpId op, std::span<const ClassId> children) const;

  // --- Reading

  // Numbers of live e-nodes and of canonical classes. Clean graphs only.
  int64_t num_enodes() const { return num_enodes_; }
  int64_t num_classes() const { return num_classes_; }
  // One more than the largest id given out so far: the sizes for arrays indexed by them.
  uint32_t class_bound() const { return union_find_.size(); }
  uint32_t enode_bound() const { return store_.num_nodes(); }

  // An e-node. Valid until the next Add, Union or Rebuild.
  ENodeView node(ENodeId id) const { return {store_.row(id).op(), store_.children(id)}; }
  ClassId class_of(ENodeId id) const { return Find(store_.row(id).cls); }
  KindId kind(ENodeId id) const { return kind_of_op_[store_.row(id).op().value()]; }
  Origin origin(ENodeId id) const { return origin_[id.value()].value; }
  bool live(ENodeId id) const { return store_.row(id).live(); }

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

  // --- Parts that some readers look at themselves

  const OpTable& table() const { return *table_; }
  // Rows and chains, for loops that run millions of times.
  const NodeStore& store() const { return store_; }
  // What was recorded for explanations. Null unless RecordProofs was called. A rule adds its
  // applications here before it unites.
  const ProofLog* proofs() const { return proofs_.get(); }
  ProofLog* proofs() { return proofs_.get(); }
  // The e-nodes that are new or whose children or class changed, in the order of change_log.h. Some
  // may not be live. Incremental matching starts from them. Clean graphs only.
  const ChangeLog& changes() const { return changes_; }
  // Sorts the changes since the last acknowledgement, for an incremental Matcher.
  void SortChanges() { changes_.Sort(); }
  // `keep` says that changes from before this call will still be asked for.
  void AcknowledgeChanges(bool keep = false) { changes_.Acknowledge(keep); }
  // Needs KeepHash and a clean graph.
  uint64_t state_hash() { return state_hash_->ValueOf(*this); }
  // Every array of the state. Tests compare whole graphs by it.
  const Trail& trail() const { return trail_; }

 private:
  // What Rebuild has to do; empty in a clean graph.
  struct Work {
    std::vector<ClassId> absorbed;      // Their links are still one piece of chain.
    std::vector<ENodeId> repair_queue;  // Parents of absorbed classes.
    std::vector<ClassId> to_modify;
    std::vector<ClassId> to_prune;
    std::vector<ClassId> to_thin_out;  // Classes whose chains have many duplicates.
    void Clear() {
      absorbed.clear();
      repair_queue.clear();
      to_modify.clear();
      to_prune.clear();
      to_thin_out.clear();
    }
  };
  // Counts that Rollback restores, saved at each mark.
  struct Counts {
    int64_t num_enodes;
    int64_t num_classes;
    ChangeLog::Counts changes;
  };
  struct Word {
    uint32_t value;
  };

  // --- egraph.cc: adding and uniting

  // Finds an e-node with this content for which accept(id) holds.
  template <typename Accept>
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children,
                   const Accept& accept) const;
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const {
    return FindNode(hash, op, children, [](ENodeId) { return true; });
  }
  ClassId MakeClass();
  // In these the e-node must be new; `children` must be canonical, and so must the class of
  // InsertNode.
  absl::StatusOr<ClassId> Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                 Origin origin);
  absl::StatusOr<bool> InsertTo(ClassId id, uint32_t hash, OpId op,
                                std::span<const ClassId> children, Origin origin);
  absl::StatusOr<bool> InsertObserved(ClassId id, uint32_t hash, OpId op,
                                      std::span<const ClassId> children, Origin origin);
  ENodeId InsertInto(ClassId id, uint32_t hash, OpId op, std::span<const ClassId> children,
                     Origin origin);
  ENodeId InsertNode(uint32_t hash, OpId op, std::span<const ClassId> children, ClassId id,
                     Origin origin);
  bool MakeRoomInHashCons();
  KindId KindOf(OpId op) {
    const bool known = op.value() < kind_of_op_.size() && kind_of_op_[op.value()].valid();
    return known ? kind_of_op_[op.value()] : RememberKind(op);
  }
  KindId RememberKind(OpId op);
  void VoidApplication(Origin origin) {
    if (proofs_ != nullptr) proofs_->VoidApplication(origin);
  }
  void MarkChanged(ENodeId id);
  void Touch(ENodeId id) {
    if (state_hash_ != nullptr) state_hash_->Touch(id);
  }

  // --- batched_add.cc

  uint32_t num_unions() const { return union_find_.size() - static_cast<uint32_t>(num_classes_); }
  bool Outdated(const Probe& probe) const;
  ENodeId FindPrepared(const Probe& probe) const;

  // --- rebuild.cc

  absl::Status RestoreCongruence();
  void MoveMembers(const ClassRow& absorbed);
  absl::Status RepairNodes();
  bool Canonicalize(ENodeId id);
  absl::Status Rekey(ENodeId id, uint32_t hash);
  absl::Status RunAnalysis();
  absl::Status UpdateParentsOf(ClassId id);
  absl::Status UpdateWideParentsOf(std::span<const ClassId> changed);
  void MarkChangedAround(ClassId id);
  void HidePruned();
  void CountDuplicate(ENodeId id);
  void DropDuplicates();
  // Replaces ids by their canonical ones, sorts them and removes repetitions.
  void MakeCanonical(std::vector<ClassId>& ids) const;

  // All fields are changed by one thread. Those that the trail knows and the counts are the state;
  // marks and rollbacks cover them.

  // --- Constant after construction; both are borrowed
  const OpTable* const table_;
  Analysis* const analysis_;  // May be null.

  // --- The state: e-nodes and classes
  Trail trail_;             // Undoes the changes of all that is built on it below.
  NodeStore store_;         // E-nodes, by ENodeId, and the chains of canonical classes.
  FlatArray<Word> origin_;  // By ENodeId.
  HashCons hash_cons_;      // Live e-nodes by content.
  UnionFind union_find_;    // By ClassId, also of absorbed classes.
  ChangeLog changes_;
  int64_t num_enodes_ = 0;
  int64_t num_classes_ = 0;
  std::vector<Counts> counts_at_mark_;

  // --- The state: options; null unless asked for
  std::unique_ptr<ProofLog> proofs_;
  std::unique_ptr<StateHash> state_hash_;

  // --- Between a change and the next Rebuild; a rollback clears them
  Work work_;
  bool dirty_ = false;
  std::optional<UnionRecord> refused_union_;

  // --- Caches and scratch space; valid for any state
  std::vector<KindId> kind_of_op_;  // By OpId; invalid if not asked for yet.
  std::vector<ClassId> scratch_;    // Canonical children of the e-node being added.
};

template <typename Accept>
ENodeId EGraph::FindNode(uint32_t hash, OpId op, std::span<const ClassId> children,
                         const Accept& accept) const {
  const uint32_t key = Row::Key(op, children.size());
  if (children.size() > 2) {
    return hash_cons_.Find(hash, [&](ENodeId candidate) {
      return store_.row(candidate).key() == key &&
             std::ranges::equal(store_.children(candidate), children) && accept(candidate);
    });
  }
  const ClassId first = children.empty() ? ClassId() : children[0];
  const ClassId second = children.size() < 2 ? ClassId() : children[1];
  return hash_cons_.Find(hash, [&](ENodeId candidate) {
    return store_.row(candidate).Holds(key, first, second) && accept(candidate);
  });
}

}  // namespace quotient::egraph

#include "core/egraph/ranges.h"
