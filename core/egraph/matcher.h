#pragma once

// Matcher finds the matches of many rules together and, after a change, only the new ones. It takes
// rules that are one or more patterns (Rule::programs).
//
//   Matcher matcher(graph.table(), rules);
//   matcher.Search(graph);                       // all matches
//   for (size_t i = 0; i < rules.size(); ++i) {
//     while (const size_t waiting = matcher.num_waiting(i)) {
//       matcher.ApplyNext(graph, i, std::min(waiting, RightProgram::kMaxBatch));
//     }
//   }
//   graph.Rebuild();
//   matcher.Search(graph);                       // those that were not there before
//
// The search orders of all patterns form one trie (match_trie.h). Matches are flat tuples of words
// in one queue per pattern, in a deterministic order. A search takes time proportional to the
// changes and what is connected with them. It finds each match once, and again after an e-node of
// the match changed. Only one matcher can follow the changes of an e-graph; a matcher that starts
// later finds all matches. One thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/class_lists.h"
#include "core/egraph/egraph.h"
#include "core/egraph/match_trie.h"
#include "core/egraph/right_program.h"
#include "core/egraph/rule.h"
#include "core/egraph/word_queue.h"

namespace quotient::egraph {

class Matcher {
 public:
  // Borrows both. Rules for which takes() is false cannot be matched this way and must be searched
  // by Rule::Search. `large`: see class_lists.h.
  Matcher(const OpTable& table, std::span<const Rule* const> rules,
          uint32_t large = ClassLists::kLarge);

  bool takes(size_t rule) const { return !patterns_of_[rule].empty(); }

  // Limits of a search. A rule that stops early continues from there in the next search.
  struct Bounds {
    // By rule: the number of waiting matches of a pattern at which the pattern stops, after it has
    // finished the changed e-node it is at. Rules beyond the end have no limit.
    std::vector<size_t> waiting;
    // Asked regularly. When it returns false all rules stop and drop the matches of the e-node they
    // are at, so the time it grants should suffice for one e-node.
    std::function<bool()> may_go_on;
  };

  // Queues the new matches in a clean graph and acknowledges its changes.
  void Search(EGraph& graph, const Bounds& bounds = {});

  // Number of matches in the rule's queue.
  size_t num_waiting(size_t rule) const;
  // Applies the `count` first waiting matches, at most RightProgram::kMaxBatch, and removes them
  // from the queue. Returns how many of them changed the graph. Those of a rule's first pattern
  // come first, the oldest at the front.
  absl::StatusOr<int64_t> ApplyNext(EGraph& graph, size_t rule, size_t count);
  // The waiting match `index` in that order, as words: root classes, class variables, operator
  // variables, and for each list variable the e-node that has it as its last children. Valid until
  // the next search.
  std::span<const uint32_t> Waiting(size_t rule, size_t index) const;
  // Applies it without removing it. Returns whether the graph changed.
  absl::StatusOr<bool> ApplyWaiting(EGraph& graph, size_t rule, size_t index) const;

  // Call each together with the e-graph's method. Rollback restores the queues.
  void Mark();
  void Rollback();
  void Forget();

 private:
  using Node = MatchTrie::Node;
  using Emission = MatchTrie::Emission;
  using Walk = MatchTrie::Walk;

  // A pattern of a rule that is matched here.
  struct Pattern {
    const Rule* rule;
    const Program* program;
    Origin origin;             // Of what the rule adds.
    uint32_t alternative = 0;  // Which one of the rule's it is.
    // How to apply matches without the rule, if it is nothing but a pattern without builders.
    std::optional<RightProgram> right;
    WordQueue queue;           // Tuples of match_size() words.
    size_t next = 0;           // Index of the first word of the oldest one.
    ChangeLog::Position seen;  // Changes before this position have been searched.
    // The left side is a single variable, so every class is a match.
    bool of_classes = false;
    uint32_t seen_classes = 0;     // For of_classes: lower ids have been seen.
    size_t enough = 0;             // Size of the queue at which the rule stops.
    ChangeLog::Position found_at;  // Where the last match was found.
    // Size of the queue before the matches at found_at were added.
    size_t before_it = 0;
    bool searched = false;  // Whether the present search includes it.

    size_t match_size() const;  // Number of words of a match.
    size_t num_waiting() const { return (queue.size() - next) / match_size(); }
    std::span<const uint32_t> Waiting(size_t first, size_t count) const {
      return queue.words().subspan(next + first * match_size(), count * match_size());
    }
    Match Unpacked(const EGraph& graph, std::span<const uint32_t> words) const;
  };
  // The last children of an e-node, from position `start`.
  struct List {
    ENodeId node;
    uint32_t start = 0;
  };
  struct QueueMark {
    size_t size;
    size_t next;
    ChangeLog::Position seen;
    uint32_t seen_classes;
  };

  // --- Going through what has changed.

  void SearchClasses(const EGraph& graph, Pattern& pattern);
  void SearchPatterns(const EGraph& graph, ChangeLog::Position from);
  bool EnableSearched();
  static void PrefetchAround(const EGraph& graph, std::span<const ENodeId> batch, size_t i);
  bool RunBatch(const EGraph& graph, std::span<const ENodeId> batch);
  bool StopSome();
  bool MustStop();

  absl::StatusOr<int64_t> ApplyNextOf(EGraph& graph, Pattern& pattern, size_t count);
  std::pair<size_t, size_t> PatternOfWaiting(size_t rule, size_t index) const;

  // --- The machine: runs the trie around one e-node. Its memory is registers_, ops_ and lists_.

  void RunSeeds(const EGraph& graph, ENodeId id);
  void RunChildren(const EGraph& graph, const Node& node);
  void RunOne(const EGraph& graph, const Node& child);
  void RunDown(const EGraph& graph, const Walk& walk);
  void RunUp(const EGraph& graph, const Walk& walk);
  void RunJoin(const EGraph& graph, const Walk& walk);
  void TryAt(const EGraph& graph, const Node& next, ENodeId id);
  bool Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row);
  bool Holds(const EGraph& graph, const Node& node) const;
  void Emit(const EGraph& graph, const Emission& emission);
  bool LeavesFit(const EGraph& graph, const Emission& emission) const;
  // Whether the e-node's last change is before, or after, the position of the search.
  bool IsBefore(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} < at_;
  }
  bool IsAfter(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} > at_;
  }

  // --- Queues of matches, which Mark, Rollback and Forget cover
  std::vector<std::vector<size_t>> patterns_of_;  // By rule: indices of patterns_.
  std::vector<Pattern> patterns_;
  std::vector<std::vector<QueueMark>> marks_;  // By mark: the ends of all queues.

  // --- The search orders of all patterns
  MatchTrie trie_;

  // --- Members and uses of large classes, by kind (class_lists.h)
  ClassLists class_lists_;

  // --- The search that is running: valid only inside of Search
  ChangeLog::Position at_;  // Position of the e-node searched around.
  bool some_have_enough_ = false;
  std::function<bool()> may_go_on_;
  bool stopped_ = false;  // Whether may_go_on_ has returned false.
  uint32_t steps_ = 0;    // Counts calls of MustStop.
  std::vector<uint32_t> registers_;
  std::vector<uint32_t> ops_;
  std::vector<List> lists_;

  // --- Scratch memory of ApplyNext
  RightProgram::Batch batch_;
};

}  // namespace quotient::egraph
