// Builds the trie of all deltas. A trie node is one instruction. Two deltas share it if they are
// equal up to there; so that they are, registers are numbered in the order in which instructions
// set them. Leaves have registers of their own, which all rules share.

#include <algorithm>
#include <functional>
#include <utility>

#include "core/egraph/matcher.h"

namespace quotient::egraph {

using Code = Instruction::Code;

Matcher::Matcher(const OpTable& table, std::span<const Rule* const> rules, uint32_t large)
    : lists_(large) {
  rules_.resize(rules.size());
  nodes_.emplace_back();
  for (uint32_t i = 0; i < rules.size(); ++i) {
    const Program* const program = rules[i]->program();
    if (program == nullptr) continue;
    rules_[i].of_classes = program->is_any_class;
    if (program->deltas.empty() && !program->is_any_class) continue;
    const auto small = [](const Plan& plan) { return plan.num_registers < kFirstLeaf; };
    if (!std::ranges::all_of(program->deltas, small)) continue;
    rules_[i].right = RightProgram::Make(*program);
    if (!takes(i)) continue;
    ops_.resize(std::max<size_t>(ops_.size(), program->num_op_variables));
    for (const Plan& plan : program->deltas) AddPlan(table, i, *program, plan);
  }
  for (const uint32_t seed : nodes_[0].children) {
    const KindId kind = nodes_[seed].step.kind;
    if (kind.value() >= seeds_.size()) seeds_.resize(kind.value() + 1);
    seeds_[kind.value()].push_back(seed);
  }
  registers_.resize(kFirstLeaf + leaves_.size());
}

uint32_t Matcher::LeafIndex(OpId op) {
  const auto known =
      std::ranges::find_if(leaves_, [op](const Leaf& leaf) { return leaf.op == op; });
  if (known == leaves_.end()) {
    leaves_.push_back({op, ENodeId()});
    return static_cast<uint32_t>(leaves_.size() - 1);
  }
  return static_cast<uint32_t>(known - leaves_.begin());
}

void Matcher::AddPlan(const OpTable& table, uint32_t rule, const Program& program,
                      const Plan& plan) {
  std::vector<uint32_t> renumbered(plan.num_registers, kNoIndex);
  Emission emission;
  emission.rule = rule;
  for (const Plan::Leaf& leaf : plan.leaves) {
    const uint32_t index = LeafIndex(leaf.op);
    renumbered[leaf.class_register] = kFirstLeaf + index;
    emission.leaves.push_back({index, leaf.earlier});
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
    std::vector<uint32_t> guard_registers;
    if (step.code == Code::kGuard) {
      guard = &program.guards[step.guard];
      for (const Argument& argument : guard->arguments) {
        const bool is_class = argument.sort == 'c';
        guard_registers.push_back(is_class ? renumbered[plan.variable_registers[argument.variable]]
                                           : argument.variable);
      }
    }
    if (step.op.valid()) step.kind = table.Kind(step.op);
    at = ChildFor(at, step, guard, std::move(guard_registers));
    rules_[rule].nodes.push_back(at);
  }
  for (uint32_t root : plan.root_registers) emission.registers.push_back(renumbered[root]);
  for (uint32_t variable : plan.variable_registers) {
    emission.registers.push_back(renumbered[variable]);
  }
  emission.num_ops = program.num_op_variables;
  nodes_[at].emissions.push_back(std::move(emission));
}

uint32_t Matcher::ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                           std::vector<uint32_t> guard_registers) {
  for (const uint32_t child : nodes_[parent].children) {
    if (nodes_[child].guard == guard && nodes_[child].guard_registers == guard_registers &&
        nodes_[child].step == step) {
      return child;
    }
  }
  const uint32_t fresh = static_cast<uint32_t>(nodes_.size());
  TrieNode& node = nodes_.emplace_back();
  node.step = step;
  node.guard = guard;
  node.guard_registers = std::move(guard_registers);
  nodes_[parent].children.push_back(fresh);
  return fresh;
}

// Looks the leaves up again. Returns whether anything differs from the last time.
bool Matcher::LookUpLeaves(const EGraph& graph, ChangeLog::Position from) {
  bool differs = false;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const ENodeId node = graph.LookupNode(leaves_[i].op, {});
    if (node.valid()) registers_[kFirstLeaf + i] = graph.class_of(node).value();
    const bool changed = node.valid() && graph.changes().position(node) >= from;
    differs |= node != leaves_[i].node || changed != leaves_[i].changed;
    leaves_[i].node = node;
    leaves_[i].changed = changed;
  }
  return differs;
}

// Enables what the rules with `searched` set need. Returns false if nothing can be found.
bool Matcher::EnableSearched(bool leaves_differ) {
  std::vector<bool> searched;
  for (const RuleState& rule : rules_) searched.push_back(rule.searched);
  if (leaves_differ || searched != enabled_for_) {
    for (const uint32_t node : on_paths_) Disable(nodes_[node]);
    on_paths_.clear();
    for (const RuleState& rule : rules_) {
      if (rule.searched) on_paths_.insert(on_paths_.end(), rule.nodes.begin(), rule.nodes.end());
    }
    // Children have larger indices than their parents, so they come first.
    std::ranges::sort(on_paths_, std::greater<>());
    on_paths_.erase(std::ranges::unique(on_paths_).begin(), on_paths_.end());
    for (const uint32_t node : on_paths_) Enable(nodes_[node]);
    enabled_for_ = std::move(searched);
    const auto enabled = [this](uint32_t node) { return nodes_[node].enabled; };
    wanted_.clear();
    for (const auto& seeds : seeds_) wanted_.push_back(std::ranges::any_of(seeds, enabled));
  }
  return std::ranges::find(wanted_, true) != wanted_.end();
}

void Matcher::Disable(TrieNode& node) {
  node.enabled = false;
  node.walks.clear();
  for (Emission& emission : node.emissions) emission.enabled = false;
}

void Matcher::Enable(TrieNode& node) {
  for (Emission& emission : node.emissions) {
    const auto there = [this](const LeafUse& use) { return leaves_[use.leaf].node.valid(); };
    const auto changed = [this](const LeafUse& use) { return leaves_[use.leaf].changed; };
    emission.enabled =
        rules_[emission.rule].searched && std::ranges::all_of(emission.leaves, there);
    emission.looks_at_leaves = std::ranges::any_of(emission.leaves, changed);
    node.enabled |= emission.enabled;
  }
  for (const uint32_t child : node.children) {
    if (nodes_[child].enabled) AddToWalks(child, node.walks);
  }
  node.enabled |= !node.walks.empty();
}

// Returns the trie node as a join if its only continuation compares a child of its e-node with
// something known before.
std::optional<Matcher::Walk> Matcher::Join(uint32_t child) const {
  const TrieNode& node = nodes_[child];
  const Instruction& step = node.step;
  if (step.code != Code::kDown || step.num_children > 2 || node.children.size() != 1 ||
      !node.emissions.empty()) {
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

void Matcher::AddToWalks(uint32_t child, std::vector<Walk>& walks) const {
  if (std::optional<Walk> join = Join(child)) {
    walks.push_back(*std::move(join));
    return;
  }
  const Instruction& step = nodes_[child].step;
  const uint32_t position = step.code == Code::kUp ? step.position : 0;
  const Walk::Branch branch = {child, Wanted(step.kind, position)};
  uint32_t kinds = 0;
  if (step.code == Code::kDown) {
    kinds = step.num_children == 0 ? ClassRow::kLeafBit : ClassRow::MemberBit(step.kind);
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
