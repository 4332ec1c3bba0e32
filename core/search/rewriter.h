#pragma once

// Rewriter: rules at work on an e-graph. Finds the matches of all, which wait until they are
// applied, each once. Patterns are matched together and incrementally (Matcher); the others (guards
// that look at the graph, rules written by hand) search from scratch, and a memory drops what they
// found before. One thread.
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
#include "core/search/match_memory.h"

namespace quotient::search {

class Rewriter {
 public:
  // Borrows both; the graph is clean and only this one changes it. Origins are index in `rules`
  // + 1.
  Rewriter(egraph::EGraph* graph, std::span<const egraph::Rule* const> rules);

  egraph::EGraph& graph() const { return graph_; }
  size_t num_rules() const { return rules_.size(); }
  // Whether finding its matches takes a search of the whole graph.
  bool searches_from_scratch(size_t rule) const { return !matcher_.takes(rule); }

  // Looks in a clean graph until `wanted[rule]` matches wait, or some more, or there are no others;
  // with 0 not at all.
  void Search(std::span<const size_t> wanted, const StopCondition& stop);
  size_t num_waiting(size_t rule) const;
  // Applies as many as are asked for of those that wait, the oldest first, and takes them out. How
  // many of them changed the graph.
  absl::StatusOr<int64_t> ApplyNext(size_t rule, size_t count);
  // One of those that wait: whether what it rewrites is among the classes (of a rule that searches
  // from scratch: anything that it names).
  bool Touches(size_t rule, size_t index, const std::vector<bool>& classes) const;
  // Applies it and leaves it where it is. True if the graph changed.
  absl::StatusOr<bool> ApplyWaiting(size_t rule, size_t index);
  // Of the graph. A union that the analysis refuses means that a rule is wrong: an error that says
  // what led to it, in both.
  absl::Status Rebuild() { return Told(graph_.Rebuild()); }

  // Marks of the graph and of what waits: see EGraph::Mark.
  void Mark();
  void Rollback();
  void Forget();

 private:
  // Matches of a rule that searches from scratch; those before `next` are applied.
  struct Queue {
    std::vector<egraph::Match> matches;
    size_t next = 0;
  };
  struct QueueSize {
    size_t size;
    size_t next;
  };

  void SearchFromScratch(size_t rule, size_t wanted, const StopCondition& stop);
  absl::Status Told(const absl::Status& status);

  egraph::EGraph& graph_;
  const std::span<const egraph::Rule* const> rules_;
  egraph::Matcher matcher_;
  MatchMemory memory_;         // of all that are in queues_
  std::vector<Queue> queues_;  // by rule
  std::vector<std::vector<QueueSize>> marks_;
};

}  // namespace quotient::search
