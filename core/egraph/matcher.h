#pragma once

// Matcher: finds the matches of many pattern rules at once, and of each change only what is new.
//
//   Matcher matcher(graph.table(), rules);
//   matcher.Search(graph);                       // all matches
//   matcher.ApplyAll(graph, [] { return true; });
//   graph.Rebuild();
//   matcher.Search(graph);                       // those that were not there before
//
// The orders in which left sides can be found (Program::deltas) of all rules form one trie: what
// several begin with is done once, and e-nodes that several look for in one place are looked
// through once. Matches are flat tuples of words, one queue per rule, in a deterministic order and
// in time proportional to the changes and what hangs together with them. Each is found once, and
// again when an e-node of it changed. The changes of an e-graph are one matcher's: another one, or
// one of an e-graph that was loaded, finds all. One thread.

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
  // Borrows both. Rules that cannot be matched so are left to their own Search: see takes().
  // `large`: see class_lists.h.
  Matcher(const OpTable& table, std::span<const Rule* const> rules,
          uint32_t large = ClassLists::kLarge);

  bool takes(size_t rule) const { return rules_[rule].right.has_value(); }

  // How far a search goes. A rule that stops early goes on from there the next time.
  struct Bounds {
    // By rule: it stops at the first changed e-node after which so many matches wait in its queue.
    // Rules beyond the end have no bound.
    std::vector<size_t> waiting;
    // Asked every now and then; all rules stop where it says no, before the e-node at which they
    // are. So it must leave time for what hangs together with one.
    std::function<bool()> may_go_on;
  };

  // Queues what is new in a clean graph and acknowledges its changes.
  void Search(EGraph& graph, const Bounds& bounds = {});

  // Matches that wait in the queue of a rule.
  size_t num_waiting(size_t rule) const;
  // Applies the `count` oldest that wait and takes them out of the queue; at most
  // RightProgram::kMaxBatch. How many of them changed the graph.
  absl::StatusOr<int64_t> ApplyNext(EGraph& graph, size_t rule, size_t count);
  // One that waits, of num_waiting(rule), the oldest first: root classes, class variables, operator
  // variables, as words. Valid until the next search.
  std::span<const uint32_t> Waiting(size_t rule, size_t index) const;
  // Applies it, and leaves it where it is. True if the graph changed.
  absl::StatusOr<bool> ApplyWaiting(EGraph& graph, size_t rule, size_t index) const;
  // Applies all that wait, rule by rule, until an error or until `may_go_on` says no, which is
  // asked every few matches.
  template <typename MayGoOn>
  absl::Status ApplyAll(EGraph& graph, const MayGoOn& may_go_on);

  // Together with the e-graph's marks: the queues come back as they were.
  void Mark();
  void Rollback();
  void Forget();

 private:
  // Registers of leaves begin here, those of patterns are below.
  static constexpr uint32_t kFirstLeaf = 1024;

  struct RuleState {
    std::optional<RightProgram> right;
    std::vector<uint32_t> nodes;   // of the trie, without its root: all on its ways
    WordQueue queue;               // tuples of right->match_size() words
    size_t next = 0;               // word where the oldest waiting match begins
    ChangeLog::Position seen;      // what changed before was searched
    bool of_classes = false;       // each class is a match
    uint32_t seen_classes = 0;     // if so; those with lower ids have been seen
    size_t enough = 0;             // size of the queue at which the rule stops
    ChangeLog::Position found_at;  // where the last match was found
    size_t before_it = 0;          // size of the queue before the matches found there
    bool searched = false;         // by the present search
  };
  struct LeafUse {
    uint32_t leaf;  // index in leaves_
    bool earlier;   // as in Instruction
  };
  // What a trie node reports: registers in the order of a match.
  struct Emission {
    uint32_t rule;
    std::vector<uint32_t> registers;
    uint32_t num_ops = 0;         // the first operator variables
    std::vector<LeafUse> leaves;  // that must be there
    bool enabled = false;
    bool looks_at_leaves = false;  // some of them changed, too
  };
  // Children of a trie node that look at the same e-nodes: those along one chain. Comparisons and
  // guards are alone, and so are joins: e-nodes of a class of which a child is known, too.
  struct Walk {
    // A child, and which e-nodes it looks at.
    struct Branch {
      uint32_t node;
      uint64_t wanted;
    };
    Instruction::Code code;
    uint32_t input;
    uint32_t kinds;  // bits of ClassRow: without one of them there is nothing to find
    std::vector<Branch> branches;
    // Joins only: the register of the known child, and where it is.
    uint32_t known = kNoIndex;
    uint32_t position = 0;
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
    ENodeId node;          // invalid: not there
    bool changed = false;  // in what is searched
  };
  struct QueueMark {
    size_t size;
    size_t next;
    ChangeLog::Position seen;
    uint32_t seen_classes;
  };

  void AddPlan(const OpTable& table, uint32_t rule, const Program& program, const Plan& plan);
  uint32_t ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                    std::vector<uint32_t> guard_registers);
  uint32_t LeafIndex(OpId op);
  void SearchClasses(const EGraph& graph, RuleState& rule);
  void SearchRules(const EGraph& graph, ChangeLog::Position from);
  bool Wants(const EGraph& graph, ENodeId id) const;
  static void PrefetchAround(const EGraph& graph, std::span<const ENodeId> batch, size_t i);
  bool RunBatch(const EGraph& graph, std::span<const ENodeId> batch);
  bool StopSome();
  bool MustStop();
  bool LookUpLeaves(const EGraph& graph, ChangeLog::Position from);
  bool EnableSearched(bool leaves_differ);
  // Whether the e-node changed before, or after, the one that the search is at.
  bool IsBefore(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} < at_;
  }
  bool IsAfter(ENodeId id, const Row& row) const {
    return ChangeLog::Position{row.changed_at, id.value()} > at_;
  }
  static void Disable(TrieNode& node);
  void Enable(TrieNode& node);
  void RunSeeds(const EGraph& graph, ENodeId id);
  void AddToWalks(uint32_t child, std::vector<Walk>& walks) const;
  std::optional<Walk> Join(uint32_t child) const;
  void RunDown(const EGraph& graph, const Walk& walk);
  void RunUp(const EGraph& graph, const Walk& walk);
  void RunJoin(const EGraph& graph, const Walk& walk);
  void TryAt(const EGraph& graph, const TrieNode& next, ENodeId id);
  void RunChildren(const EGraph& graph, const TrieNode& node);
  void RunOne(const EGraph& graph, const TrieNode& child);
  // E-nodes of a kind, or the uses of a class by them as that child.
  static uint64_t Wanted(KindId kind, uint32_t position) {
    return uint64_t{kind.value()} << 32 | position;
  }
  bool Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row);
  bool Holds(const EGraph& graph, const TrieNode& node) const;
  void Emit(const EGraph& graph, const Emission& emission);
  bool LeavesFit(const EGraph& graph, const Emission& emission) const;

  std::vector<RuleState> rules_;
  std::vector<TrieNode> nodes_;
  std::vector<std::vector<uint32_t>> seeds_;  // by KindId: trie nodes
  std::vector<bool> wanted_;                  // by KindId: some seed is enabled
  std::vector<Leaf> leaves_;                  // in registers from kFirstLeaf on
  ClassLists lists_;
  ChangeLog::Position at_;  // of the e-node that is searched around
  bool some_have_enough_ = false;
  std::vector<bool> enabled_for_;   // rules; empty: unknown
  std::vector<uint32_t> on_paths_;  // trie nodes of those
  std::function<bool()> may_go_on_;
  bool stopped_ = false;  // by it
  uint32_t steps_ = 0;    // since some time
  std::vector<uint32_t> registers_;
  std::vector<uint32_t> ops_;
  std::vector<std::vector<QueueMark>> marks_;
  RightProgram::Batch batch_;  // scratch
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
