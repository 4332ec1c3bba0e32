#pragma once

// IncrementalTree: the answer of `tree` for every class at once, kept while the e-graph grows and
// goes back, in time that goes with what changed: for searches that look at the cost after each
// step.
//
//   IncrementalTree tree(&cost);
//   tree.Update(graph);                  // at first everything
//   graph.Mark();  tree.Mark();
//   ... rewrite; graph.Rebuild();
//   tree.Update(graph);                  // what changed and what depends on it
//   double reward = before - tree.cost(root);
//   graph.Rollback();  tree.Rollback(graph);
//
// A class has a label: cost, e-nodes of rules and depth of its best tree, compared in this order,
// then the e-node. The label of an e-node is above those of its children, so the labels that are
// the least of the e-nodes of their class are unique, and choices are acyclic. Classes whose label
// is not (any more) are settled in the order of the lower of what they have and what they should
// have; one that has to rise is forgotten first. Each is settled at most twice. Labels may rise
// although e-graphs only grow: a child that is cheaper by less than rounding keeps may be deeper.
// Reference: G. Ramalingam and T. Reps, "An incremental algorithm for a generalization of the
// shortest-path problem", J. Algorithms 21, 1996.
//
// Fusions are not looked at. One thread.

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "core/egraph/change_log.h"
#include "core/egraph/class_log.h"
#include "core/extract/extract.h"

namespace quotient::extract {

class IncrementalTree {
 public:
  // Borrowed. The cost of an e-node must stay what it is.
  explicit IncrementalTree(const CostFunction* cost) : cost_(*cost) {}

  // Takes in what changed in a clean graph, always the same one, since the last call. Acknowledges
  // changes, and keeps them for others.
  void Update(EGraph& graph);

  // Of canonical classes, as of the last Update. Each use of a class is paid for. Infinity and no
  // e-node if there is no finite tree.
  double cost(ClassId id) const { return states_[id.value()].label.cost; }
  ENodeId choice(ClassId id) const { return states_[id.value()].label.node; }

  // Together with the e-graph's marks.
  void Mark();
  void Rollback(const EGraph& graph);
  void Forget();

 private:
  struct Label {
    double cost = std::numeric_limits<double>::infinity();
    double rewritten = std::numeric_limits<double>::infinity();
    uint32_t depth = std::numeric_limits<uint32_t>::max();
    ENodeId node;  // invalid: there is no tree

    friend auto operator<=>(const Label& a, const Label& b) {
      return std::tie(a.cost, a.rewritten, a.depth, a.node) <=>
             std::tie(b.cost, b.rewritten, b.depth, b.node);
    }
    friend bool operator==(const Label&, const Label&) = default;
  };
  struct State {
    Label label;
    Label least;  // of the e-nodes, by the present labels; after Update the same
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

  const CostFunction& cost_;
  std::vector<State> states_;  // by ClassId
  std::vector<Entry> queue_;   // a heap: classes whose label is not the least, by the lower of both
  egraph::ChangeLog::Position seen_;
  egraph::ClassLog<State> log_;
  std::vector<egraph::ChangeLog::Position> marks_;  // seen_ then
};

}  // namespace quotient::extract
