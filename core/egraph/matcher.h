#pragma once

// Matcher: finds the matches of many pattern rules at once, and of each change only what is new.
//
//   Matcher matcher(graph.table(), rules);
//   matcher.Search(graph);                       // all matches
//   for (..) matcher.Apply(graph, rule, match);
//   graph.Rebuild();
//   matcher.Search(graph);                       // those that were not there before
//
// The orders in which left sides can be found (Program::deltas) of all rules form one trie: what
// several begin with is done once, and e-nodes that several look for in one place are looked
// through once. Matches are flat tuples of words, one queue per rule; found once each, in a
// deterministic order, in time proportional to the changes and what hangs together with them.
// One thread.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/right_program.h"
#include "core/egraph/rule.h"
#include "core/egraph/word_queue.h"

namespace quotient::egraph {

class Matcher {
 public:
  // Borrows both. Rules that cannot be matched so are left to their own Search: see takes().
  Matcher(const OpTable& table, std::span<const Rule* const> rules);

  bool takes(size_t rule) const { return rules_[rule].right.has_value(); }

  // Queues what is new in a clean graph and acknowledges its changes.
  void Search(EGraph& graph);

  // Matches that wait in the queue of a rule.
  size_t num_waiting(size_t rule) const;
  // Applies the oldest that waits and takes it out of the queue. True if the graph changed.
  absl::StatusOr<bool> ApplyNext(EGraph& graph, size_t rule);
  // Applies all that wait, rule by rule, until an error or until `may_go_on` says no, which is
  // asked every few matches.
  template <typename MayGoOn>
  absl::Status ApplyAll(EGraph& graph, const MayGoOn& may_go_on);

  // Together with the e-graph's marks: the queues come back as they were.
  void Mark();
  void Rollback();
  void Forget();

 private:
  struct RuleState {
    std::optional<RightProgram> right;
    WordQueue queue;  // tuples of right->match_size() words
    size_t next = 0;  // word where the oldest waiting match begins
  };
  // What a trie node reports: registers in the order of a match.
  struct Emission {
    uint32_t rule;
    std::vector<uint32_t> registers;
    std::vector<uint32_t> op_registers;
    std::vector<uint32_t> old_leaves;  // leaves that must not have changed
    std::vector<uint32_t> leaves;      // that must be there
    bool enabled = false;
  };
  // Children of a trie node that look at the same e-nodes: those along one chain. Comparisons and
  // guards are alone.
  struct Walk {
    Instruction::Code code;
    uint32_t input;
    uint32_t kinds;  // bits of ClassRow: without one of them there is nothing to find
    std::vector<uint32_t> nodes;
  };
  struct TrieNode {
    Instruction step;
    const CompiledGuard* guard = nullptr;
    std::vector<uint32_t> guard_registers;
    std::vector<uint32_t> children;
    std::vector<Emission> emissions;
    // As the leaves are now:
    bool enabled = false;     // something here or below can be reported
    std::vector<Walk> walks;  // of the children that are enabled
  };
  struct Leaf {
    OpId op;
    bool there = false;
    bool changed = false;
  };
  struct QueueMark {
    size_t size;
    size_t next;
  };

  void AddPlan(const OpTable& table, uint32_t rule, const Program& program, const Plan& plan);
  uint32_t ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                    std::vector<uint32_t> guard_registers);
  uint32_t LeafIndex(OpId op);
  bool LookUpLeaves(const EGraph& graph);
  bool Enable(uint32_t node);
  void AddToWalks(uint32_t child, std::vector<Walk>& walks) const;
  void RunChildren(const EGraph& graph, const TrieNode& node);
  void RunOne(const EGraph& graph, const TrieNode& child);
  bool Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row, KindId kind);
  bool Holds(const EGraph& graph, const TrieNode& node) const;
  void Emit(const Emission& emission);

  std::vector<RuleState> rules_;
  std::vector<TrieNode> nodes_;
  std::vector<std::vector<uint32_t>> seeds_;  // by KindId: trie nodes
  std::vector<Leaf> leaves_;                  // in registers from kFirstLeaf on
  bool enabled_once_ = false;
  std::vector<uint32_t> registers_;
  std::vector<uint32_t> ops_;
  std::vector<std::vector<QueueMark>> marks_;
};

template <typename MayGoOn>
absl::Status Matcher::ApplyAll(EGraph& graph, const MayGoOn& may_go_on) {
  for (size_t i = 0; i < rules_.size(); ++i) {
    RuleState& rule = rules_[i];
    if (!rule.right.has_value()) continue;
    const size_t words = rule.right->match_size();
    while (rule.next < rule.queue.size()) {
      if (!may_go_on()) return absl::OkStatus();
      const size_t count =
          std::min((rule.queue.size() - rule.next) / words, RightProgram::kMaxBatch);
      const auto matches = rule.queue.words().subspan(rule.next, count * words);
      rule.next += count * words;
      const absl::Status status =
          rule.right->ApplyBatch(graph, matches, static_cast<Origin>(i + 1));
      if (!status.ok()) return status;
    }
    if (marks_.empty()) {
      rule.queue.Release();
      rule.next = 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace quotient::egraph
