#pragma once

// Rewriter: finds and applies the matches of a set of rules on one e-graph. Matches wait in queues
// until they are applied, each once. Rules that are patterns are matched together and incrementally
// (Matcher). Of the others, those with anchors are searched around what has changed (AnchorQueues)
// and the rest in the whole graph each time; a memory drops the matches they found before. One
// thread.
//
//   Rewriter rewriter(&graph, rules);
//   rewriter.Search(wanted, stop);
//   rewriter.ApplyNext(rule, rewriter.num_waiting(rule));
//   rewriter.Rebuild();

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/rule.h"
#include "core/search/anchor_queues.h"
#include "core/search/match_memory.h"

namespace quotient::search {

class Rewriter {
 public:
  // Borrows both. The graph is clean, and only the rewriter changes it. Origins are the index in
  // `rules` + 1.
  Rewriter(egraph::EGraph* graph, std::span<const egraph::Rule* const> rules);

  egraph::EGraph& graph() const { return graph_; }
  size_t num_rules() const { return rules_.size(); }
  // Whether the rule is nothing but a pattern.
  bool is_pattern(size_t rule) const { return rules_[rule]->program() != nullptr; }
  // Whether finding the rule's matches requires a search of the whole graph.
  bool searches_from_scratch(size_t rule) const {
    return !matcher_.takes(rule) && !anchors_.takes(rule);
  }

  // Searches a clean graph until at least `wanted[rule]` matches of each pattern of a rule wait or
  // there are no more. Rules that want 0 are not searched.
  void Search(std::span<const size_t> wanted, const StopCondition& stop);
  size_t num_waiting(size_t rule) const;
  // How many matches to apply at a time where there is room for `room` more e-nodes: so many that
  // they fit, unless right sides are very large, and at least one.
  static size_t BatchFor(int64_t room);
  // Applies the first `count` waiting matches, or all if fewer wait, and removes them from the
  // queue. Returns how many changed the graph.
  absl::StatusOr<int64_t> ApplyNext(size_t rule, size_t count);
  // Whether what a waiting match rewrites is in one of the classes (indexed by ClassId). For a rule
  // that the matcher does not take: whether any class of the match is.
  bool Touches(size_t rule, size_t index, const std::vector<bool>& classes) const;
  // Applies a waiting match and leaves it in the queue. True if the graph changed.
  absl::StatusOr<bool> ApplyWaiting(size_t rule, size_t index);
  // Rebuilds the graph. A union refused by the analysis means that a rule is wrong; the error
  // and the log then say what led to it, if the graph records proofs.
  absl::Status Rebuild() { return ExplainRefusal(graph_.Rebuild()); }

  // Marks of the graph and of the queues: see EGraph::Mark.
  void Mark();
  void Rollback();
  void Forget();

 private:
  // Matches of a rule that is no pattern. Those before `next` have been applied.
  struct Queue {
    std::vector<egraph::Match> matches;
    size_t next = 0;
  };
  struct QueueSize {
    size_t size;
    size_t next;
  };

  void SearchByItself(size_t rule, size_t wanted, const StopCondition& stop);
  absl::Status ExplainRefusal(const absl::Status& status);

  egraph::EGraph& graph_;
  const std::span<const egraph::Rule* const> rules_;
  egraph::Matcher matcher_;
  AnchorQueues anchors_;
  MatchMemory memory_;         // Matches that were put into queues_.
  std::vector<Queue> queues_;  // By rule.
  std::vector<std::vector<QueueSize>> marks_;
};

}  // namespace quotient::search
