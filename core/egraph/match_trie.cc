// A node stands for one instruction. Two orders share it if they are equal up to there; so that
// they are, registers are numbered in the order in which instructions set them, and a guard is what
// it asks, of which registers, and whether that is negated. Leaves have registers of their own,
// which all rules share.

#include "core/egraph/match_trie.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace quotient::egraph {

using Code = Instruction::Code;

namespace {

// Null stands for no guard.
bool AskTheSame(const CompiledGuard* a, const CompiledGuard* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->negated == b->negated && a->guard.holds == b->guard.holds;
}

}  // namespace

bool MatchTrie::Fits(const Program& program) {
  const auto small = [](const Plan& plan) { return plan.num_registers < kFirstLeaf; };
  return std::ranges::all_of(program.deltas, small);
}

void MatchTrie::Add(const OpTable& table, uint32_t index, const Program& program) {
  if (index >= paths_.size()) paths_.resize(index + 1);
  for (const Plan& plan : program.deltas) AddPlan(table, index, program, plan);
}

uint32_t MatchTrie::LeafIndex(OpId op) {
  const auto known =
      std::ranges::find_if(leaves_, [op](const Leaf& leaf) { return leaf.op == op; });
  if (known == leaves_.end()) {
    leaves_.push_back({op, ENodeId()});
    return static_cast<uint32_t>(leaves_.size() - 1);
  }
  return static_cast<uint32_t>(known - leaves_.begin());
}

void MatchTrie::AddPlan(const OpTable& table, uint32_t index, const Program& program,
                        const Plan& plan) {
  std::vector<uint32_t> renumbered(plan.num_registers, kNoIndex);
  Emission emission;
  emission.program = index;
  for (const Plan::Leaf& leaf : plan.leaves) {
    const uint32_t of_leaf = LeafIndex(leaf.op);
    renumbered[leaf.class_register] = kFirstLeaf + of_leaf;
    emission.leaves.push_back({of_leaf, leaf.earlier});
  }
  uint32_t next = 0;
  uint32_t at = 0;
  for (Instruction step : plan.code) {
    if (step.node_class != kNoIndex) {
      step.node_class = renumbered[step.node_class] = next++;
    }
    if (step.input != kNoIndex) step.input = renumbered[step.input];
    if (step.other != kNoIndex) step.other = renumbered[step.other];
    if (step.first_child != kNoIndex) {
      for (uint32_t i = 0; i < step.num_children; ++i) {
        renumbered[step.first_child + i] = next + i;
      }
      step.first_child = next;
      next += step.num_children;
    }
    const CompiledGuard* guard = nullptr;
    std::vector<GuardArgument> arguments;
    if (step.code == Code::kGuard) {
      guard = &program.guards[std::exchange(step.guard, kNoIndex)];
      for (const Argument& argument : guard->arguments) {
        const bool is_class = argument.sort == 'c';
        arguments.push_back(
            {argument.sort,
             is_class ? renumbered[plan.variable_registers[argument.variable]] : argument.variable,
             argument.text});
      }
    }
    if (step.op.valid()) step.kind = table.Kind(step.op);
    at = ChildFor(at, step, guard, std::move(arguments));
    paths_[index].push_back(at);
  }
  for (uint32_t root : plan.root_registers) emission.registers.push_back(renumbered[root]);
  for (uint32_t variable : plan.variable_registers) {
    emission.registers.push_back(renumbered[variable]);
  }
  emission.num_ops = program.num_op_variables;
  emission.num_lists = program.num_lists();
  nodes_[at].emissions.push_back(std::move(emission));
}

uint32_t MatchTrie::ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                             std::vector<GuardArgument> arguments) {
  for (const uint32_t child : nodes_[parent].children) {
    const Node& node = nodes_[child];
    if (node.step == step && AskTheSame(node.guard, guard) && node.arguments == arguments) {
      return child;
    }
  }
  const uint32_t fresh = static_cast<uint32_t>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.step = step;
  node.guard = guard;
  node.arguments = std::move(arguments);
  nodes_[parent].children.push_back(fresh);
  if (parent == 0) {
    if (step.kind.value() >= seeds_.size()) seeds_.resize(step.kind.value() + 1);
    seeds_[step.kind.value()].push_back(fresh);
  }
  return fresh;
}

void MatchTrie::LookUpLeaves(const EGraph& graph, ChangeLog::Position from,
                             std::span<uint32_t> registers) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const ENodeId node = graph.LookupNode(leaves_[i].op, {});
    if (node.valid()) registers[kFirstLeaf + i] = graph.class_of(node).value();
    const bool changed = node.valid() && graph.changes().position(node) >= from;
    if (node != leaves_[i].node || changed != leaves_[i].changed) enabled_for_.clear();
    leaves_[i].node = node;
    leaves_[i].changed = changed;
  }
}

bool MatchTrie::Enable(std::vector<bool> searched) {
  if (searched != enabled_for_) {
    enabled_for_ = std::move(searched);
    for (const uint32_t node : on_paths_) DisableNode(nodes_[node]);
    on_paths_.clear();
    for (size_t i = 0; i < paths_.size(); ++i) {
      const std::vector<uint32_t>& path = paths_[i];
      if (enabled_for_[i]) on_paths_.insert(on_paths_.end(), path.begin(), path.end());
    }
    // Children have larger indices than their parents, so they come first.
    std::ranges::sort(on_paths_, std::greater<>());
    on_paths_.erase(std::unique(on_paths_.begin(), on_paths_.end()), on_paths_.end());
    for (const uint32_t node : on_paths_) EnableNode(nodes_[node]);
    const auto enabled = [this](uint32_t node) { return nodes_[node].enabled; };
    wanted_.clear();
    for (const auto& seeds : seeds_) wanted_.push_back(std::ranges::any_of(seeds, enabled));
  }
  return std::ranges::find(wanted_, true) != wanted_.end();
}

void MatchTrie::DisableNode(Node& node) {
  node.enabled = false;
  node.walks.clear();
  for (Emission& emission : node.emissions) emission.enabled = false;
}

void MatchTrie::EnableNode(Node& node) {
  for (Emission& emission : node.emissions) {
    const auto there = [this](const LeafUse& use) { return leaves_[use.leaf].node.valid(); };
    const auto changed = [this](const LeafUse& use) { return leaves_[use.leaf].changed; };
    emission.enabled =
        enabled_for_[emission.program] && std::ranges::all_of(emission.leaves, there);
    emission.looks_at_leaves = std::ranges::any_of(emission.leaves, changed);
    node.enabled |= emission.enabled;
  }
  for (const uint32_t child : node.children) {
    if (nodes_[child].enabled) AddToWalks(child, node.walks);
  }
  node.enabled |= !node.walks.empty();
}

// Returns the node as a join if its only continuation compares a child of its e-node with
// something known before.
std::optional<MatchTrie::Walk> MatchTrie::Join(uint32_t child) const {
  const Node& node = nodes_[child];
  const Instruction& step = node.step;
  if (step.code != Code::kDown || step.num_children > 2 || step.list != kNoIndex ||
      node.children.size() != 1 || !node.emissions.empty()) {
    return std::nullopt;
  }
  const Instruction& next = nodes_[node.children[0]].step;
  if (next.code != Code::kSameClass) return std::nullopt;
  const uint32_t position = next.input - step.first_child;
  const bool is_child = next.input >= step.first_child && position < step.num_children;
  const bool is_known = next.other < step.first_child || next.other >= kFirstLeaf;
  if (!is_child || !is_known) return std::nullopt;
  return Walk{
      step.code,  step.input, ClassRow::MemberBit(step.kind), {{child, Wanted(step.kind, 0)}},
      next.other, position};
}

void MatchTrie::AddToWalks(uint32_t child, std::vector<Walk>& walks) const {
  if (std::optional<Walk> join = Join(child)) {
    walks.push_back(*std::move(join));
    return;
  }
  const Instruction& step = nodes_[child].step;
  const uint32_t position = step.code == Code::kUp ? step.position : 0;
  const Walk::Branch branch = {child, Wanted(step.kind, position)};
  uint32_t kinds = 0;
  if (step.code == Code::kDown) {
    if (step.num_children == 0) kinds |= ClassRow::kLeafBit;
    if (step.num_children > 0 || step.list != kNoIndex) kinds |= ClassRow::MemberBit(step.kind);
  }
  if (step.code == Code::kUp) kinds = ClassRow::UseBit(step.kind, step.position);
  const auto same = std::ranges::find_if(walks, [&](const Walk& walk) {
    return kinds != 0 && walk.code == step.code && walk.input == step.input &&
           walk.known == kNoIndex;
  });
  if (same == walks.end()) {
    walks.push_back({step.code, step.input, kinds, {branch}});
  } else {
    same->kinds |= kinds;
    same->branches.push_back(branch);
  }
}

}  // namespace quotient::egraph
