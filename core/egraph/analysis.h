#pragma once

// What a domain tells an e-graph: what its operator words are (OpTable) and what is known about a
// class (Analysis).

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class EGraph;

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

  // Classes whose data a Merge or an Update changed since the last call. One that a Merge absorbed
  // is named if the class that was kept knows more than it did. E-nodes of the others and those
  // that have them as children count as changed, for guards that look at the data.
  virtual std::vector<ClassId> TakeChanged() { return {}; }
  // The data of one of the e-node's children changed: join what the e-node now says into the data
  // of its class. Called by Rebuild until TakeChanged has nothing left.
  virtual absl::Status Update(const EGraph& /*graph*/, ENodeId /*node*/) {
    return absl::OkStatus();
  }
  // Whether Update joins all that Make and Merge would of a class of the e-node's own, Make never
  // refuses, and an error of Update is INTERNAL. Then an e-node that is added to a class goes
  // straight into it (EGraph::AddTo).
  virtual bool update_is_complete() const { return false; }
  // A class is fresh, was merged or changed its data: may Add and Union what follows, as the leaf
  // of a known constant, but not AddTo. Called by Rebuild.
  virtual absl::Status Modify(EGraph& /*graph*/, ClassId /*id*/) { return absl::OkStatus(); }

  // The e-graph's marks (see EGraph::Mark): the data of all classes comes back as it was at the
  // last mark, of which there are as many as of the e-graph's. Analyses whose e-graphs are never
  // marked leave the defaults.
  // Nothing is left for TakeChanged after a Rollback.
  virtual void Mark() {}
  virtual void Rollback(const EGraph& /*graph*/) {}
  virtual void Forget() {}
};

}  // namespace quotient::egraph
