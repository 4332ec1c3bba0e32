// The trie of all deltas and the machine that runs it. A trie node is one instruction; two deltas
// share it if they are equal up to there, which is why registers are numbered in the order in which
// instructions set them. Leaves have registers of their own, the same for all rules.

#include "core/egraph/matcher.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace quotient::egraph {
namespace {

// Registers of leaves begin here, those of patterns are below.
constexpr uint32_t kFirstLeaf = 1024;

using Code = Instruction::Code;

}  // namespace

Matcher::Matcher(const OpTable& table, std::span<const Rule* const> rules) {
  rules_.resize(rules.size());
  nodes_.emplace_back();
  for (uint32_t i = 0; i < rules.size(); ++i) {
    const Program* const program = rules[i]->program();
    if (program == nullptr || program->deltas.empty()) continue;
    const auto small = [](const Plan& plan) { return plan.num_registers < kFirstLeaf; };
    if (!std::ranges::all_of(program->deltas, small)) continue;
    rules_[i].right = RightProgram::Make(*program);
    if (!takes(i)) continue;
    ops_.resize(std::max<size_t>(ops_.size(), program->num_op_variables));
    for (const Plan& plan : program->deltas) AddPlan(table, i, *program, plan);
  }
  for (const uint32_t seed : nodes_[0].children) {
    if (nodes_[seed].step.code == Code::kScanClasses) {
      class_seeds_.push_back(seed);
      continue;
    }
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
    leaves_.push_back({op});
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
    emission.leaves.push_back(index);
    if (leaf.unchanged) emission.old_leaves.push_back(index);
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
  }
  for (uint32_t root : plan.root_registers) emission.registers.push_back(renumbered[root]);
  for (uint32_t variable : plan.variable_registers) {
    emission.registers.push_back(renumbered[variable]);
  }
  for (uint32_t i = 0; i < program.num_op_variables; ++i) emission.op_registers.push_back(i);
  nodes_[at].emissions.push_back(std::move(emission));
}

uint32_t Matcher::ChildFor(uint32_t parent, const Instruction& step, const CompiledGuard* guard,
                           std::vector<uint32_t> guard_registers) {
  for (const uint32_t child : nodes_[parent].children) {
    if (nodes_[child].guard == guard && nodes_[child].step == step) return child;
  }
  const uint32_t fresh = static_cast<uint32_t>(nodes_.size());
  TrieNode& node = nodes_.emplace_back();
  node.step = step;
  node.guard = guard;
  node.guard_registers = std::move(guard_registers);
  nodes_[parent].children.push_back(fresh);
  return fresh;
}

// True if something is not as it was.
bool Matcher::LookUpLeaves(const EGraph& graph) {
  bool differs = false;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const ENodeId node = graph.LookupNode(leaves_[i].op, {});
    if (node.valid()) registers_[kFirstLeaf + i] = graph.class_of(node).value();
    const Leaf now = {leaves_[i].op, node.valid(), node.valid() && Changed(graph, node)};
    differs |= now.there != leaves_[i].there || now.changed != leaves_[i].changed;
    leaves_[i] = now;
  }
  return differs;
}

// Leaves that are not there, or changed where an earlier delta has the match, switch off what
// needs them.
template <typename Searched>
bool Matcher::Enable(uint32_t index, const Searched& searched) {
  TrieNode& node = nodes_[index];
  node.enabled = false;
  for (Emission& emission : node.emissions) {
    const auto there = [this](uint32_t leaf) { return leaves_[leaf].there; };
    const auto old = [this](uint32_t leaf) { return !leaves_[leaf].changed; };
    emission.enabled = searched(emission.rule) && std::ranges::all_of(emission.leaves, there) &&
                       std::ranges::all_of(emission.old_leaves, old);
    node.enabled |= emission.enabled;
  }
  node.walks.clear();
  for (const uint32_t child : node.children) {
    if (Enable(child, searched)) AddToWalks(child, node.walks);
  }
  return node.enabled |= !node.walks.empty();
}

void Matcher::AddToWalks(uint32_t child, std::vector<Walk>& walks) const {
  const Instruction& step = nodes_[child].step;
  uint32_t kinds = 0;
  if (step.code == Code::kDown) {
    if (step.num_children != 0 || step.list != kNoIndex) kinds |= ClassRow::MemberBit(step.kind);
    if (step.num_children == 0) kinds |= ClassRow::kLeafBit;
  }
  if (step.code == Code::kUp) kinds = ClassRow::UseBit(step.kind, step.position);
  const auto same = std::ranges::find_if(walks, [&](const Walk& walk) {
    return kinds != 0 && walk.code == step.code && walk.input == step.input;
  });
  if (same == walks.end()) {
    walks.push_back({step.code, step.input, kinds, {child}});
  } else {
    same->kinds |= kinds;
    same->nodes.push_back(child);
  }
}

void Matcher::Search(EGraph& graph, const std::vector<bool>& left_out) {
  bool behind = false;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!takes(i) || left_out.empty() || !left_out[i]) continue;
    LeaveOut(graph, i);
    behind = true;
  }
  if (graph.has_changes()) SearchNew(graph);
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].behind && (left_out.empty() || !left_out[i])) CatchUp(graph, i);
  }
  graph.AcknowledgeChanges(behind);
}

void Matcher::LeaveOut(const EGraph& graph, size_t rule) {
  RuleState& state = rules_[rule];
  if (state.behind) return;
  state.behind = true;
  state.frontier = graph.frontier();
  enabled_is_current_ = false;
}

void Matcher::SearchNew(const EGraph& graph) {
  if (LookUpLeaves(graph) || !enabled_is_current_) {
    Enable(0, [this](uint32_t rule) { return !rules_[rule].behind; });
    enabled_is_current_ = true;
  }
  graph.ForEachChange([&](ENodeId id) {
    graph.PrefetchAround(id);
    RunSeeds(graph, id);
  });
}

void Matcher::CatchUp(const EGraph& graph, size_t rule) {
  since_ = &rules_[rule].frontier;
  LookUpLeaves(graph);
  Enable(0, [rule](uint32_t other) { return other == rule; });
  for (const ENodeId id : graph.ChangesSince(*since_)) RunSeeds(graph, id);
  since_ = nullptr;
  rules_[rule].behind = false;
  enabled_is_current_ = false;
}

void Matcher::RunSeeds(const EGraph& graph, ENodeId id) {
  const Row& row = graph.row(id);
  if (!row.live()) return;
  if (!class_seeds_.empty() && IsNewClassAt(graph, id)) {
    for (const uint32_t seed : class_seeds_) {
      registers_[nodes_[seed].step.node_class] = row.cls.value();
      if (nodes_[seed].enabled) RunChildren(graph, nodes_[seed]);
    }
  }
  const KindId kind = graph.kind(id);
  if (kind.value() >= seeds_.size()) return;
  for (const uint32_t seed : seeds_[kind.value()]) {
    const TrieNode& node = nodes_[seed];
    if (node.enabled && Load(graph, node.step, id, row, kind)) RunChildren(graph, node);
  }
}

// Whether all of the e-node's class is changed, and it comes first: at one e-node of each class
// that no search has seen.
bool Matcher::IsNewClassAt(const EGraph& graph, ENodeId id) const {
  bool first = true;
  for (ENodeId at = graph.class_row(graph.row(id).cls).first_member; at.valid();
       at = graph.row(at).next_member) {
    const Row& row = graph.row(at);
    if (!row.live()) continue;
    if (!Changed(graph, at) || (first && at != id)) return false;
    first = false;
  }
  return true;
}

void Matcher::RunChildren(const EGraph& graph, const TrieNode& node) {
  for (const Emission& emission : node.emissions) {
    if (emission.enabled) Emit(emission);
  }
  for (const Walk& walk : node.walks) {
    if (walk.kinds == 0) {
      RunOne(graph, nodes_[walk.nodes[0]]);
      continue;
    }
    const ClassId input(registers_[walk.input]);
    const ClassRow& cls = graph.class_row(input);
    if (walk.code == Code::kDown) {
      if ((cls.member_kinds & walk.kinds) == 0) continue;
      graph.ForEachMember(input, [&](ENodeId id) {
        const Row& row = graph.row(id);
        if (!row.live()) return;
        const KindId kind = graph.kind(id);
        for (const uint32_t child : walk.nodes) {
          const TrieNode& next = nodes_[child];
          if (Load(graph, next.step, id, row, kind)) RunChildren(graph, next);
        }
      });
      continue;
    }
    if ((cls.use_kinds & walk.kinds) == 0) continue;
    graph.ForEachUse(input, [&](ENodeId id, uint32_t position) {
      const Row& row = graph.row(id);
      if (!row.live()) return;
      const KindId kind = graph.kind(id);
      for (const uint32_t child : walk.nodes) {
        const TrieNode& next = nodes_[child];
        if (position == next.step.position && Load(graph, next.step, id, row, kind)) {
          RunChildren(graph, next);
        }
      }
    });
  }
}

void Matcher::RunOne(const EGraph& graph, const TrieNode& child) {
  const bool passes = child.step.code == Code::kGuard
                          ? Holds(graph, child)
                          : registers_[child.step.input] == registers_[child.step.other];
  if (passes) RunChildren(graph, child);
}

// Whether the e-node fits; if so, its parts are in the registers.
bool Matcher::Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row,
                   KindId kind) {
  const OpId op = row.op();
  if (step.op.valid() ? op != step.op : kind != step.kind) return false;
  if (step.unchanged && Changed(graph, id)) return false;
  const std::span<const ClassId> children = graph.node(id).children;
  if (step.list == kNoIndex ? children.size() != step.num_children
                            : children.size() < step.num_children) {
    return false;
  }
  if (step.op_variable != kNoIndex) {
    if (step.op_bound && ops_[step.op_variable] != op.value()) return false;
    ops_[step.op_variable] = op.value();
  }
  if (step.node_class != kNoIndex) registers_[step.node_class] = row.cls.value();
  for (uint32_t i = 0; i < step.num_children; ++i) {
    registers_[step.first_child + i] = children[i].value();
  }
  return true;
}

bool Matcher::Holds(const EGraph& graph, const TrieNode& node) const {
  absl::InlinedVector<Binding, 4> bindings;
  for (size_t i = 0; i < node.guard_registers.size(); ++i) {
    const Argument& argument = node.guard->arguments[i];
    Binding& binding = bindings.emplace_back();
    if (argument.sort == 'c') binding.id = ClassId(registers_[node.guard_registers[i]]);
    if (argument.sort == 'o') binding.op = OpId(ops_[node.guard_registers[i]]);
    if (argument.sort == 't') binding.text = argument.text;
  }
  return node.guard->guard.holds(graph, bindings) != node.guard->negated;
}

void Matcher::Emit(const Emission& emission) {
  WordQueue& queue = rules_[emission.rule].queue;
  for (const uint32_t index : emission.registers) queue.push_back(registers_[index]);
  for (const uint32_t index : emission.op_registers) queue.push_back(ops_[index]);
}

size_t Matcher::num_waiting(size_t rule) const {
  const RuleState& state = rules_[rule];
  if (!state.right.has_value()) return 0;
  return (state.queue.size() - state.next) / state.right->match_size();
}

absl::StatusOr<int64_t> Matcher::ApplyNext(EGraph& graph, size_t rule, size_t count) {
  RuleState& state = rules_[rule];
  const size_t words = count * state.right->match_size();
  const std::span<const uint32_t> matches = state.queue.words().subspan(state.next, words);
  state.next += words;
  const absl::StatusOr<int64_t> changed =
      state.right->ApplyBatch(graph, matches, static_cast<Origin>(rule + 1));
  if (state.next == state.queue.size() && marks_.empty()) {
    state.queue.Truncate(0);
    state.next = 0;
  }
  return changed;
}

void Matcher::Mark() {
  std::vector<QueueMark>& mark = marks_.emplace_back();
  for (const RuleState& rule : rules_)
    mark.push_back({rule.queue.size(), rule.next, rule.behind, rule.frontier});
}

void Matcher::Rollback() {
  for (size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].queue.Truncate(marks_.back()[i].size);
    rules_[i].next = marks_.back()[i].next;
    rules_[i].behind = marks_.back()[i].behind;
    rules_[i].frontier = marks_.back()[i].frontier;
  }
  marks_.pop_back();
  enabled_is_current_ = false;
}

void Matcher::Forget() { marks_.pop_back(); }

}  // namespace quotient::egraph
