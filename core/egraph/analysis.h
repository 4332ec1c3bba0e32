#pragma once

// The interfaces that a domain implements for an e-graph: OpTable describes its operator words, and
// Analysis keeps what is known about each class.

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class EGraph;

// Describes operator words. Thread-compatible.
class OpTable {
 public:
  virtual ~OpTable() = default;
  virtual KindId Kind(OpId op) const = 0;
  // Returns the kind with this name, and creates it if it is new.
  virtual KindId KindOfName(absl::string_view name) = 0;
  // The printed form, such as "Conv{strides=[2,2]}". Also used to break ties deterministically.
  virtual std::string Name(OpId op) const = 0;
};

// Facts about each class. The analysis stores them itself, indexed by ClassId.
class Analysis {
 public:
  virtual ~Analysis() = default;
  // Computes the data of the new class `fresh` of an e-node from its children's data. An error
  // refuses the e-node: Add returns the error and leaves the graph unchanged.
  virtual absl::Status Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                            ClassId fresh) = 0;
  // Called before `absorbed` is merged into `kept`; joins their data. An error refuses the union.
  // It means that a caller broke an invariant (such as uniting two types), and it must leave the
  // data of both classes unchanged.
  virtual absl::Status Merge(const EGraph& graph, ClassId kept, ClassId absorbed) = 0;

  // The methods below are for domains where a merge can teach something new about a class (for
  // example, that it is a constant), which its parents and the graph itself may then use.

  // Returns the classes whose data a Merge or an Update changed since the last call. If a Merge
  // absorbed a class, it is listed when the class that was kept knows more than the absorbed one
  // did. The e-nodes and parents of listed classes that are still canonical count as changed, so
  // that guards that look at the data are asked again.
  virtual std::vector<ClassId> TakeChanged() { return {}; }
  // Called by Rebuild when the data of one of the e-node's children changed, until TakeChanged
  // returns nothing: joins what the e-node now implies into the data of its class.
  virtual absl::Status Update(const EGraph& /*graph*/, ENodeId /*node*/) {
    return absl::OkStatus();
  }
  // Whether Update alone joins everything that Make and Merge would contribute if the e-node got a
  // class of its own first. This also promises that Make never refuses an e-node and that errors of
  // Update are INTERNAL. An e-node that is added to a class then goes straight into it
  // (EGraph::AddTo).
  virtual bool update_is_complete() const { return false; }
  // Called by Rebuild for a class that is new, was merged, or whose data changed. May Add and Union
  // what follows from the data, such as the leaf of a known constant, but must not AddTo.
  virtual absl::Status Modify(EGraph& /*graph*/, ClassId /*id*/) { return absl::OkStatus(); }

  // These follow the e-graph's marks one for one (see EGraph::Mark). Rollback restores the data of
  // all classes to the last mark and leaves nothing for TakeChanged. An analysis whose e-graph is
  // never marked keeps the defaults.
  virtual void Mark() {}
  virtual void Rollback(const EGraph& /*graph*/) {}
  virtual void Forget() {}
};

}  // namespace quotient::egraph
