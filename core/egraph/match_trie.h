#pragma once

// MatchTrie holds the search orders of many patterns (Program::deltas) as one trie, for the Matcher
// to run. A node is one instruction, and orders share nodes as far as they begin alike. For
// example, these are (+ ?a (* ?b ?c)) and (+ ?a (f ?b)), both started at the changed e-node +:
//
//   scan + ─┬─ down * ── match of the first rule
//           └─ down f ── match of the second rule
//
// Before a search the trie is told which patterns the search includes. It enables the paths of
// these patterns, as far as the leaves on the paths are in the graph, and joins siblings that look
// for e-nodes in the same chain, as the two above do, into one walk. One thread.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/egraph/change_log.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"

namespace quotient::egraph {

class MatchTrie {
 public:
  // Registers of leaves start here, those of patterns are below.
  static constexpr uint32_t kFirstLeaf = 1024;

  // --- What the trie is made of

  struct LeafUse {
    uint32_t leaf;  // For leaf_node.
    bool earlier;   // As in Instruction.
  };
  // What a node reports: registers in the order of a match.
  struct Emission {
    uint32_t program;  // By the order of Add.
    std::vector<uint32_t> registers;
    uint32_t num_ops = 0;         // Number of operator variables.
    uint32_t num_lists = 0;       // Number of list variables.
    std::vector<LeafUse> leaves;  // Leaves that the match needs.
    // Set by Enable:
    bool enabled = false;
    // Whether some leaf of the match is among the searched changes, so that leaves must be
    // compared.
    bool looks_at_leaves = false;
  };
  // Children of a node that iterate over the same chain. Comparisons and guards have a walk each,
  // and so have joins, which look for e-nodes of a class that have a known child.
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
  // An argument of a guard: what is in a class register, an operator variable or a list, or a text,
  // which is borrowed from the program.
  struct GuardArgument {
    char sort = 'c';  // As in Argument.
    uint32_t index = 0;
    absl::string_view text = {};

    friend bool operator==(const GuardArgument&, const GuardArgument&) = default;
  };
  struct Node {
    Instruction step;
    const CompiledGuard* guard = nullptr;
    std::vector<GuardArgument> arguments;  // Of the guard.
    std::vector<uint32_t> children;
    std::vector<Emission> emissions;
    // Set by Enable:
    bool enabled = false;     // Something here or below can be reported.
    std::vector<Walk> walks;  // One or more enabled children each.
  };

  // --- Building

  MatchTrie() : nodes_(1) {}
  // Whether the registers of a program are below those of leaves.
  static bool Fits(const Program& program);
  // Adds all orders of a program that fits, which the caller numbers. Borrows its guards.
  void Add(const OpTable& table, uint32_t index, const Program& program);
  // Number of registers that a search needs, including those of leaves.
  size_t num_registers() const { return kFirstLeaf + leaves_.size(); }

  // --- Before a search

  // Finds out which leaves are in the graph and which of them are among the changes since `from`,
  // and writes their classes into their registers.
  void LookUpLeaves(const EGraph& graph, ChangeLog::Position from, std::span<uint32_t> registers);
  // Enables what the programs with `searched` set need, with the leaves that were looked up last.
  // Returns false if nothing can be found.
  bool Enable(std::vector<bool> searched);

  // --- During a search

  // Whether some enabled order starts at e-nodes of this kind.
  bool StartsAt(KindId kind) const {
    return kind.value() < wanted_.size() && wanted_[kind.value()];
  }
  // The nodes, enabled or not, at which the orders that start at this kind begin.
  std::span<const uint32_t> seeds(KindId kind) const {
    if (kind.value() >= seeds_.size()) return {};
    return seeds_[kind.value()];
  }
  const Node& node(uint32_t index) const { return nodes_[index]; }
  // The e-node of a leaf that is in the graph.
  ENodeId leaf_node(uint32_t leaf) const { return leaves_[leaf].node; }
  // A key for e-nodes of a kind, or for uses of a class as child `position` of that kind.
  static uint64_t Wanted(KindId kind, uint32_t position) {
    return uint64_t{kind.value()} << 32 | position;
  }

 private:
  struct Leaf {
    OpId op;
    ENodeId node;          // Invalid if not in the graph.
    bool changed = false;  // Among the changes that are searched.
  };

  void AddPlan(const OpTable& table, uint32_t index, const Program& program, const Plan& plan);
  uint32_t ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                    std::vector<GuardArgument> arguments);
  uint32_t LeafIndex(OpId op);
  void EnableNode(Node& node);
  static void DisableNode(Node& node);
  void AddToWalks(uint32_t child, std::vector<Walk>& walks) const;
  std::optional<Walk> Join(uint32_t child) const;

  // --- Constant once all programs are added, except for what Enable sets in the nodes

  std::vector<Node> nodes_;                   // The first one is the root.
  std::vector<std::vector<uint32_t>> seeds_;  // By KindId: nodes below the root.
  std::vector<std::vector<uint32_t>> paths_;  // By program: all nodes on its orders but the root.

  // --- What is enabled

  std::vector<Leaf> leaves_;  // Their registers start at kFirstLeaf.
  // By program; empty if nothing is enabled for the present leaves.
  std::vector<bool> enabled_for_;
  std::vector<uint32_t> on_paths_;  // The nodes on the paths of those programs.
  std::vector<bool> wanted_;        // By KindId: whether a seed is enabled.
};

}  // namespace quotient::egraph
