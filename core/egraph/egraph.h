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
// After Union, and after an Add that made an e-node, the graph is *dirty*: only Find, Add, Lookup
// and Union are allowed until Rebuild. Changes from one thread; a clean graph may be read by many.
// E-nodes are never moved or renumbered; one that congruence made a duplicate is no longer live.
// References: Willsey et al., "egg: Fast and extensible equality saturation", POPL'21.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/grouped_list.h"
#include "core/egraph/hash_cons.h"
#include "core/egraph/ids.h"
#include "core/egraph/union_find.h"

namespace quotient::egraph {

// What operator words are. Thread-compatible.
class OpTable {
 public:
  virtual ~OpTable() = default;
  virtual KindId Kind(OpId op) const = 0;
  // The kind of that name, made if new.
  virtual KindId KindOfName(absl::string_view name) = 0;
  // "Conv{strides=[2,2]}"; for printing and for deterministic ties.
  virtual std::string Name(OpId op) const = 0;
};

class EGraph;

// What is known about each class: stored by the analysis, indexed by ClassId.
class Analysis {
 public:
  virtual ~Analysis() = default;
  // The e-node's class is fresh: compute its data from the children's. An error refuses the
  // e-node: Add returns it and the graph is as before.
  virtual absl::Status Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                            ClassId fresh) = 0;
  // Both classes are about to become one, `kept`. An error refuses the union: it is a broken
  // invariant of the caller (two types that differ) and must leave the data of both as it was.
  virtual absl::Status Merge(const EGraph& graph, ClassId kept, ClassId absorbed) = 0;

  // The rest is for domains where a merge can teach something new about a class (a constant
  // became known), which its parents and the graph itself may then use.

  // Classes whose data a Merge or an Update changed since the last call.
  virtual std::vector<ClassId> TakeChanged() { return {}; }
  // The data of one of the e-node's children changed: join what the e-node now says into the data
  // of its class. Called by Rebuild until TakeChanged has nothing left.
  virtual absl::Status Update(const EGraph& /*graph*/, ENodeId /*node*/) {
    return absl::OkStatus();
  }
  // A class is fresh, was merged or changed its data: may Add and Union what follows, as the leaf
  // of a known constant. Called by Rebuild.
  virtual absl::Status Modify(EGraph& /*graph*/, ClassId /*id*/) { return absl::OkStatus(); }
};

struct ENodeView {
  OpId op;
  std::span<const ClassId> children;  // canonical when the graph is clean
};

// A union that changed the graph.
struct UnionRecord {
  ClassId a;
  ClassId b;
  Origin origin;
};

class EGraph {
 public:
  // Borrows both; `analysis` may be null.
  EGraph(const OpTable* table, Analysis* analysis);
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // The class of op(children), a new one if the e-node is new. Errors are the analysis's, and
  // RESOURCE_EXHAUSTED when ids run out (2^32). `children` may point into this graph.
  absl::StatusOr<ClassId> Add(OpId op, std::span<const ClassId> children,
                              Origin origin = kInputOrigin);
  // The class of op(children) if that e-node exists. In a dirty graph it may be missed.
  std::optional<ClassId> Lookup(OpId op, std::span<const ClassId> children) const;

  // Makes both classes one; true if they were not yet. Dirty afterwards.
  absl::StatusOr<bool> Union(ClassId a, ClassId b, Origin origin = kInputOrigin);
  // Restores congruence. A union it implies may be refused by the analysis: that error, and the
  // graph must no longer be used.
  absl::Status Rebuild();
  bool dirty() const { return dirty_; }
  // From the next Rebuild on, of this class and of what it is merged into only e-nodes without
  // children are live. The others still take part in congruence and are found by Add.
  void PruneToLeaves(ClassId id);

  // The canonical class; constant time in a clean graph, logarithmic otherwise.
  ClassId Find(ClassId id) const { return union_find_.Find(id); }

  // E-nodes and classes that are live (canonical, congruence-closed). Clean graphs only.
  int64_t num_enodes() const { return num_enodes_; }
  int64_t num_classes() const { return static_cast<int64_t>(classes_.size()); }
  // One more than the largest ClassId ever given out: size for side tables.
  uint32_t class_bound() const { return union_find_.size(); }
  uint32_t enode_bound() const { return static_cast<uint32_t>(op_.size()); }

  // Canonical classes in increasing order of id. Clean graphs only.
  const std::vector<ClassId>& classes() const { return classes_; }
  // E-nodes of a class, live ones, in order of creation. Clean graphs only.
  std::span<const ENodeId> nodes(ClassId id) const { return nodes_of_class_[Find(id).value()]; }
  // Live e-nodes that have this class as a child, each once. Clean graphs only.
  std::span<const ENodeId> parents(ClassId id) const { return parents_of_class_[Find(id).value()]; }
  // Live e-nodes of a kind, in order of creation. Clean graphs only.
  std::span<const ENodeId> nodes_of_kind(KindId kind) const { return nodes_of_kind_[kind.value()]; }

  // Valid until the next Add, Union or Rebuild.
  ENodeView node(ENodeId id) const { return {op_[id.value()], ChildrenOf(id)}; }
  ClassId class_of(ENodeId id) const { return Find(class_[id.value()]); }
  // Clean graphs only.
  KindId kind(ENodeId id) const { return kind_of_op_[op_[id.value()].value()]; }
  Origin origin(ENodeId id) const { return origin_[id.value()]; }
  // All unions so far, oldest first.
  const std::vector<UnionRecord>& unions() const { return unions_; }

  const OpTable& table() const { return *table_; }

 private:
  // The e-nodes that have a class as a child: a chain through parent_links_. Chains concatenate in
  // constant time.
  struct ParentChain {
    uint32_t head = kNoLink;
    uint32_t tail = kNoLink;
    uint32_t size = 0;
  };
  struct ParentLink {
    ENodeId node;
    uint32_t next = kNoLink;
  };
  static constexpr uint32_t kNoLink = 0xffffffffu;

  std::span<const ClassId> ChildrenOf(ENodeId id) const {
    const uint32_t begin = child_begin_[id.value()];
    return std::span<const ClassId>(children_).subspan(begin, child_begin_[id.value() + 1] - begin);
  }
  bool live(uint32_t node) const {
    return !duplicate_[node] &&
           !(leaves_only_[class_[node].value()] && child_begin_[node] != child_begin_[node + 1]);
  }
  ENodeId FindNode(uint32_t hash, OpId op, std::span<const ClassId> children) const;
  absl::StatusOr<ClassId> Insert(uint32_t hash, OpId op, std::span<const ClassId> children,
                                 Origin origin);
  void AddParent(ClassId child, ENodeId node);

  absl::Status RestoreCongruence();
  absl::Status RepairNode(ENodeId id);
  absl::Status UpdateParentsOf(ClassId id);
  absl::Status RunAnalysis();
  // Sorted, canonical, each once.
  void MakeCanonical(std::vector<ClassId>& ids) const;
  void BuildIndex();

  const OpTable* table_;
  Analysis* analysis_;

  // E-nodes, by ENodeId.
  std::vector<OpId> op_;
  std::vector<ClassId> class_;         // canonical when clean
  std::vector<uint32_t> child_begin_;  // into children_; one more than there are e-nodes
  std::vector<ClassId> children_;      // canonical when clean
  std::vector<Origin> origin_;
  std::vector<bool> duplicate_;  // congruent to an older e-node, which stands for it
  HashCons hash_cons_;

  // Classes, by ClassId; of the canonical ones if not said otherwise.
  UnionFind union_find_;  // all
  std::vector<ParentChain> parents_;
  std::vector<bool> leaves_only_;
  std::vector<ParentLink> parent_links_;
  std::vector<UnionRecord> unions_;

  // What Rebuild has to look at.
  std::vector<ParentChain> to_repair_;  // parents of absorbed classes
  std::vector<ClassId> to_modify_;
  bool dirty_ = false;

  // Index of a clean graph.
  int64_t num_enodes_ = 0;
  std::vector<ClassId> classes_;
  GroupedList<ENodeId> nodes_of_class_;
  GroupedList<ENodeId> parents_of_class_;
  GroupedList<ENodeId> nodes_of_kind_;
  std::vector<KindId> kind_of_op_;  // by OpId; invalid: not asked yet

  std::vector<ClassId> scratch_;  // canonical children of what Add is asked for
};

}  // namespace quotient::egraph
