#pragma once

// IncrementalTree: maintains the answer of the extractor `tree` for every class while the e-graph
// grows and is rolled back, in time proportional to the changes. With it a term search values a
// state in microseconds.
//
//   IncrementalTree tree(&cost);
//   tree.Update(graph);                  // At first everything.
//   graph.Mark();  tree.Mark();
//   ... rewrite; graph.Rebuild();
//   tree.Update(graph);                  // What changed and what depends on it.
//   double reward = before - tree.cost(root);
//   graph.Rollback();  tree.Rollback(graph);
//
// Each class has a label: the cost, the number of e-nodes made by rules, and the depth of its best
// tree, then the e-node, compared in this order. An e-node's label is greater than those of its
// children, so the labels that are the least of the e-nodes of their classes are unique, and the
// choices are acyclic. After a change, classes whose label is no longer the least are settled in
// the order of the smaller of their label and the least one. A label that has to rise is reset
// first. Each class is settled at most twice. Labels may rise although e-graphs only grow: a child
// whose cost falls by less than rounding keeps may become deeper. Reference: G. Ramalingam and T.
// Reps, "An incremental algorithm for a generalization of the shortest-path problem", J. Algorithms
// 21, 1996.
//
// Ignores fusions. One thread.

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "core/egraph/change_log.h"
#include "core/egraph/class_log.h"
#include "core/extract/extract.h"

namespace quotient::testing {

class IncrementalTree {
 public:
  using ClassId = egraph::ClassId;
  using EGraph = egraph::EGraph;
  using ENodeId = egraph::ENodeId;

  // Borrows the cost function. The cost of an e-node must not change.
  explicit IncrementalTree(const extract::CostFunction* cost) : cost_(*cost) {}

  // Takes in what has changed since the last call in a clean graph, which must always be the same
  // one. Acknowledges the changes, and keeps them for other users of the log.
  void Update(EGraph& graph);

  // Cost and choice for a canonical class as of the last Update, where each use of a class is paid
  // for. Infinity and no e-node if there is no finite tree.
  double cost(ClassId id) const { return states_[id.value()].label.cost; }
  ENodeId choice(ClassId id) const { return states_[id.value()].label.node; }

  // Called together with the e-graph's functions of these names.
  void Mark();
  void Rollback(const EGraph& graph);
  void Forget();

 private:
  struct Label {
    double cost = std::numeric_limits<double>::infinity();
    double rewritten = std::numeric_limits<double>::infinity();
    uint32_t depth = std::numeric_limits<uint32_t>::max();
    ENodeId node;  // Invalid if there is no tree.

    friend auto operator<=>(const Label& a, const Label& b) {
      return std::tie(a.cost, a.rewritten, a.depth, a.node) <=>
             std::tie(b.cost, b.rewritten, b.depth, b.node);
    }
    friend bool operator==(const Label&, const Label&) = default;
  };
  struct State {
    Label label;
    // The least label of its e-nodes, by the present labels of their children. Equals `label` after
    // Update.
    Label least;
  };
  struct Entry {
    Label key;
    ClassId id;
    friend bool operator>(const Entry& a, const Entry& b) {
      return std::tie(a.key, a.id) > std::tie(b.key, b.id);
    }
  };

  Label LabelOf(const EGraph& graph, ENodeId node) const;
  Label LeastOf(const EGraph& graph, ClassId id) const;
  void Consider(const EGraph& graph, ENodeId node);
  void Settle(const EGraph& graph, ClassId id);
  void Queue(ClassId id);

  const extract::CostFunction& cost_;
  std::vector<State> states_;  // By ClassId.
  // A heap of the classes whose label is not the least, by the smaller of both.
  std::vector<Entry> queue_;
  egraph::ChangeLog::Position seen_;
  egraph::ClassLog<State> log_;
  std::vector<egraph::ChangeLog::Position> marks_;  // Values of seen_ at the marks.
};

}  // namespace quotient::testing
