// The machine that runs the trie: from each changed e-node depth-first along the chains of the
// e-graph. How the trie is made is in matcher_trie.cc.

#include "core/egraph/matcher.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace quotient::egraph {

using Code = Instruction::Code;

void Matcher::Search(EGraph& graph, const std::vector<bool>& left_out) {
  ++searches_;
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
    if (walk.known != kNoIndex) {
      RunJoin(graph, walk);
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

// Whoever comes here for one known child mostly comes for the next right after (two sums of
// products: each product of the one with each of the other), so what fits is listed once and then
// compared without going along the chain.
void Matcher::RunJoin(const EGraph& graph, const Walk& walk) {
  const ClassId input(registers_[walk.input]);
  const ClassId known(registers_[walk.known]);
  TrieNode& next = nodes_[walk.nodes[0]];
  const uint32_t use = ClassRow::UseBit(next.step.kind, walk.position);
  if ((graph.class_row(input).member_kinds & walk.kinds) == 0) return;
  if ((graph.class_row(known).use_kinds & use) == 0) return;
  if (next.listed_class != input || next.listed_in != searches_) {
    ListForJoin(graph, input, walk, next);
  }
  for (size_t i = 0; i < next.listed_children.size(); ++i) {
    if (next.listed_children[i] != known) continue;
    const ENodeId id = next.listed_nodes[i];
    if (Load(graph, next.step, id, graph.row(id), next.step.kind)) RunChildren(graph, next);
  }
}

void Matcher::ListForJoin(const EGraph& graph, ClassId input, const Walk& walk,
                          TrieNode& node) const {
  node.listed_class = input;
  node.listed_in = searches_;
  node.listed_children.clear();
  node.listed_nodes.clear();
  graph.ForEachMember(input, [&](ENodeId id) {
    const Row& row = graph.row(id);
    if (!row.live() || graph.kind(id) != node.step.kind || row.listed()) return;
    if (row.arity() != node.step.num_children) return;
    node.listed_children.push_back(row.child[walk.position]);
    node.listed_nodes.push_back(id);
  });
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
