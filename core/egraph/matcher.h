#pragma once

// Matcher finds the matches of many pattern rules together and, after a change, only the new ones.
//
//   Matcher matcher(graph.table(), rules);
//   matcher.Search(graph);                       // all matches
//   matcher.ApplyAll(graph, [] { return true; });
//   graph.Rebuild();
//   matcher.Search(graph);                       // those that were not there before
//
// The search orders of all rules (Program::deltas) form one trie: common beginnings run once, and
// siblings that look for e-nodes in the same chain share one walk. Matches are flat tuples of words
// in one queue per rule, in a deterministic order. A search takes time proportional to the changes
// and what is connected with them. It finds each match once, and again after an e-node of the match
// changed. Only one matcher can follow the changes of an e-graph; a matcher that starts later finds
// all matches. One thread.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/class_lists.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"
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

  bool takes(size_t rule) const { return rules_[rule].right.has_value(); }

  // Limits of a search. A rule that stops early continues from there in the next search.
  struct Bounds {
    // By rule: the number of waiting matches at which the rule stops, after it has finished the
    // changed e-node it is at. Rules beyond the end have no limit.
    std::vector<size_t> waiting;
    // Asked regularly. When it returns false all rules stop and drop the matches of the e-node they
    // are at, so the time it grants should suffice for one e-node.
    std::function<bool()> may_go_on;
  };

  // Queues the new matches in a clean graph and acknowledges its changes.
  void Search(EGraph& graph, const Bounds& bounds = {});

  // Number of matches in the rule's queue.
  size_t num_waiting(size_t rule) const;
  // Applies the `count` oldest waiting matches, at most RightProgram::kMaxBatch, and removes them
  // from the queue. Returns how many of them changed the graph.
  absl::StatusOr<int64_t> ApplyNext(EGraph& graph, size_t rule, size_t count);
  // The waiting match `index`, oldest first: root classes, class variables, operator variables, as
  // words. Valid until the next search.
  std::span<const uint32_t> Waiting(size_t rule, size_t index) const;
  // Applies it without removing it. Returns whether the graph changed.
  absl::StatusOr<bool> ApplyWaiting(EGraph& graph, size_t rule, size_t index) const;
  // Applies all waiting matches, rule by rule, until an error or until `may_go_on` returns false.
  // It is asked before each batch.
  template <typename MayGoOn>
  absl::Status ApplyAll(EGraph& graph, const MayGoOn& may_go_on);

  // Call each together with the e-graph's method. Rollback restores the queues.
  void Mark();
  void Rollback();
  void Forget();

 private:
  // Registers of leaves start here, those of patterns are below.
  static constexpr uint32_t kFirstLeaf = 1024;

  struct RuleState {
    std::optional<RightProgram> right;
    std::vector<uint32_t> nodes;   // All on the rule's paths, except the root.
    WordQueue queue;               // Tuples of right->match_size() words.
    size_t next = 0;               // Index of the first word of the oldest one.
    ChangeLog::Position seen;      // What changed before it has been searched.
    bool of_classes = false;       // Each class is a match.
    uint32_t seen_classes = 0;     // For of_classes: lower ids have been seen.
    size_t enough = 0;             // Size of the queue at which the rule stops.
    ChangeLog::Position found_at;  // Where the last match was found.
    size_t before_it = 0;          // Size of the queue before those matches.
    bool searched = false;         // Whether the present search includes it.
  };
  struct LeafUse {
    uint32_t leaf;  // Index in leaves_.
    bool earlier;   // As in Instruction.
  };
  // What a trie node reports: registers in the order of a match.
  struct Emission {
    uint32_t rule;
    std::vector<uint32_t> registers;
    uint32_t num_ops = 0;         // Number of operator variables.
    std::vector<LeafUse> leaves;  // Leaves that the match needs.
    bool enabled = false;
    bool looks_at_leaves = false;  // Some of the leaves changed, too.
  };
  // Children of a trie node that iterate over the same chain. Comparisons and guards have a walk
  // each, and so have joins, which look for e-nodes of a class that have a known child.
  struct Walk {
    // A child, and the e-nodes it looks for; see Wanted.
    struct Branch {
      uint32_t node;
      uint64_t wanted;
    };
    Instruction::Code code;
    uint32_t input;
    uint32_t kinds;  // Bits of ClassRow; if none is set, nothing is there.
    std::vector<Branch> branches;
    // For joins: the register of the known child, and its position.
    uint32_t known = kNoIndex;
    uint32_t position = 0;
  };
  struct TrieNode {
    Instruction step;
    const CompiledGuard* guard = nullptr;
    std::vector<uint32_t> guard_registers;
    std::vector<uint32_t> children;
    std::vector<Emission> emissions;
    // Set by Enable for the present leaves and searched rules:
    bool enabled = false;     // Something here or below can be reported.
    std::vector<Walk> walks;  // One or more enabled children each.
  };
  struct Leaf {
    OpId op;
    ENodeId node;          // Invalid if not in the graph.
    bool changed = false;  // Among the changes that are searched.
  };
  struct QueueMark {
    size_t size;
    size_t next;
    ChangeLog::Position seen;
    uint32_t seen_classes;
  };

  // --- Building the trie (matcher_trie.cc). Only the constructor calls these.

  void AddPlan(const OpTable& table, uint32_t rule, const Program& program, const Plan& plan);
  uint32_t ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                    std::vector<uint32_t> guard_registers);
  uint32_t LeafIndex(OpId op);

  // --- Enabling what a search needs (matcher_trie.cc): the paths of the rules that it includes, as
  // far as the leaves on them are in the graph.

  bool LookUpLeaves(const EGraph& graph, ChangeLog::Position from);
  bool EnableSearched(bool leaves_differ);
  void Enable(TrieNode& node);
  static void Disable(TrieNode& node);
  void AddToWalks(uint32_t child, std::vector<Walk>& walks) const;
  std::optional<Walk> Join(uint32_t child) const;

  // --- Going through what has changed.

  void SearchClasses(const EGraph& graph, RuleState& rule);
  void SearchRules(const EGraph& graph, ChangeLog::Position from);
  bool Wants(const EGraph& graph, ENodeId id) const;
  static void PrefetchAround(const EGraph& graph, std::span<const ENodeId> batch, size_t i);
  bool RunBatch(const EGraph& graph, std::span<const ENodeId> batch);
  bool StopSome();
  bool MustStop();

  // --- The machine: runs the trie around one e-node, with registers_ and ops_ as its memory.

  void RunSeeds(const EGraph& graph, ENodeId id);
  void RunChildren(const EGraph& graph, const TrieNode& node);
  void RunOne(const EGraph& graph, const TrieNode& child);
  void RunDown(const EGraph& graph, const Walk& walk);
  void RunUp(const EGraph& graph, const Walk& walk);
  void RunJoin(const EGraph& graph, const Walk& walk);
  void TryAt(const EGraph& graph, const TrieNode& next, ENodeId id);
  bool Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row);
  bool Holds(const EGraph& graph, const TrieNode& node) const;
  void Emit(const EGraph& graph, const Emission& emission);
  bool LeavesFit(const EGraph& graph, const Emission& emission) const;
  // Whether the e-node's last change is before, or after, the position of the search.
  bool IsBefore(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} < at_;
  }
  bool IsAfter(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} > at_;
  }
  // A key for e-nodes of a kind, or for uses of a class as child `position` of that kind.
  static uint64_t Wanted(KindId kind, uint32_t position) {
    return uint64_t{kind.value()} << 32 | position;
  }

  // --- Queues of matches, which Mark, Rollback and Forget cover
  std::vector<RuleState> rules_;
  std::vector<std::vector<QueueMark>> marks_;  // By mark: the ends of the queues of all rules.

  // --- The trie of all patterns. Only what a search enables changes after the constructor.
  std::vector<TrieNode> nodes_;
  std::vector<std::vector<uint32_t>> seeds_;  // By KindId: trie nodes below the root.
  std::vector<bool> wanted_;                  // By KindId: whether a seed is enabled.
  std::vector<Leaf> leaves_;                  // Their registers start at kFirstLeaf.
  std::vector<bool> enabled_for_;             // By rule; empty if unknown.
  std::vector<uint32_t> on_paths_;            // The trie nodes of those rules.

  // --- Members and uses of large classes, by kind (class_lists.h)
  ClassLists lists_;

  // --- The search that is running: valid only inside of Search
  ChangeLog::Position at_;  // Position of the e-node searched around.
  bool some_have_enough_ = false;
  std::function<bool()> may_go_on_;
  bool stopped_ = false;  // Whether may_go_on_ has returned false.
  uint32_t steps_ = 0;    // Counts calls of MustStop.
  std::vector<uint32_t> registers_;
  std::vector<uint32_t> ops_;

  // --- Scratch memory of ApplyNext
  RightProgram::Batch batch_;
};

template <typename MayGoOn>
absl::Status Matcher::ApplyAll(EGraph& graph, const MayGoOn& may_go_on) {
  size_t all = 0;
  for (size_t i = 0; i < rules_.size(); ++i) all += num_waiting(i);
  graph.ExpectNodes(all);
  for (size_t i = 0; i < rules_.size(); ++i) {
    RuleState& rule = rules_[i];
    if (!rule.right.has_value()) continue;
    while (const size_t waiting = num_waiting(i)) {
      if (!may_go_on()) return absl::OkStatus();
      const absl::StatusOr<int64_t> changed =
          ApplyNext(graph, i, std::min(waiting, RightProgram::kMaxBatch));
      if (!changed.ok()) return changed.status();
    }
    if (marks_.empty()) {
      rule.queue.Release();
      rule.next = 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace quotient::egraph
