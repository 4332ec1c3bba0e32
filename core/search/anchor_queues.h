#pragma once

// AnchorQueues: for rules that are no patterns (Rule::anchors), the e-nodes around which matches
// may have appeared since the rule was searched last. They are, for each e-node that changed,
// itself, the e-nodes that have its class as a child, and the members of its children's classes, as
// far as they are of the rule's kinds. A queue grows with the changes until its
// rule is searched. One thread.

#include <span>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::search {

class AnchorQueues {
 public:
  // Borrows the rules.
  explicit AnchorQueues(std::span<const egraph::Rule* const> rules);

  bool takes(size_t rule) const { return queue_of_[rule] != kNone; }

  // Queues the anchors around everything in a clean graph that changed since the last call. Comes
  // before the changes are acknowledged.
  void Follow(egraph::EGraph& graph);
  // Searches the rule at the anchors that wait. They leave the queue unless the sink wants no more.
  void Search(const egraph::EGraph& graph, size_t rule, egraph::MatchSink& sink);

  // To be called together with the e-graph's functions of these names.
  void Mark();
  void Rollback();
  void Forget() { marks_.pop_back(); }

 private:
  struct Queue {
    const egraph::Rule* rule = nullptr;
    std::vector<egraph::ENodeId> anchors;  // May have an e-node several times.
    size_t next = 0;                       // Those before it have been searched.
  };
  struct Ends {
    size_t size;
    size_t next;
  };
  struct Marked {
    egraph::ChangeLog::Position seen;
    std::vector<Ends> ends;  // Parallel to queues_.
  };

  // Adds the e-node to the queues of the rules that have its kind.
  void Add(const egraph::EGraph& graph, egraph::ENodeId node);
  // Calls visit(e-node) for those around an e-node.
  template <typename Visit>
  static void ForEachAround(const egraph::EGraph& graph, egraph::ENodeId node, const Visit& visit);

  static constexpr size_t kNone = static_cast<size_t>(-1);

  // --- Which rule has which queue
  std::vector<size_t> queue_of_;                     // By rule: an index of queues_, or kNone.
  std::vector<std::vector<size_t>> queues_of_kind_;  // By KindId: of rules that have it.
  std::vector<size_t> queues_of_any_kind_;

  // --- What Mark and Rollback cover
  std::vector<Queue> queues_;         // One for each rule that has anchors.
  egraph::ChangeLog::Position seen_;  // Changes before this position have been followed.
  std::vector<Marked> marks_;
};

}  // namespace quotient::search
