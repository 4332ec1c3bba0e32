// The machine that runs the trie: from each changed e-node depth-first along the chains of the
// e-graph. How the trie is made is in matcher_trie.cc.

#include "core/egraph/matcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace quotient::egraph {

using Code = Instruction::Code;

namespace {

constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

}  // namespace

void Matcher::Search(EGraph& graph, const Bounds& bounds) {
  ++searches_;
  stopped_ = false;
  may_go_on_ = bounds.may_go_on;
  // Only who may stop on the way needs an order.
  if (!bounds.waiting.empty() || bounds.may_go_on) graph.SortChanges();
  for (size_t i = 0; i < rules_.size(); ++i) {
    RuleState& rule = rules_[i];
    const size_t bound = i < bounds.waiting.size() ? bounds.waiting[i] : kNoBound;
    const size_t words = takes(i) ? rule.right->match_size() : 1;
    rule.enough = bound < (kNoBound - rule.next) / words ? rule.next + bound * words : kNoBound;
  }
  const auto wants_more = [this](size_t i) {
    return takes(i) && rules_[i].queue.size() < rules_[i].enough;
  };
  // Who is behind catches up alone; the others go together.
  const ChangeLog::Position present = graph.changes().begin();
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].seen >= present || !wants_more(i)) continue;
    rules_[i].searched = true;
    SearchRules(graph, rules_[i].seen);
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].searched = rules_[i].seen == present && wants_more(i);
  }
  SearchRules(graph, present);
  const ChangeLog::Position end = {present.epoch + 1, 0};
  graph.AcknowledgeChanges(std::ranges::any_of(rules_, [&end](const RuleState& rule) {
    return rule.right.has_value() && rule.seen < end;
  }));
}

// The rules that are `searched`, all of which have seen what changed before `from`.
void Matcher::SearchRules(const EGraph& graph, ChangeLog::Position from) {
  const uint32_t present = graph.changes().begin().epoch;
  if (!stopped_ && EnableSearched(LookUpLeaves(graph, from))) {
    graph.changes().ForEachSince(from, [&](ENodeId id, ChangeLog::Position at) {
      at_ = at;
      at_present_ = at.epoch == present;
      graph.PrefetchAround(id);
      RunSeeds(graph, id);
      return (!stopped_ && !some_have_enough_) || StopSome();
    });
  }
  for (RuleState& rule : rules_) {
    if (rule.searched && !stopped_) rule.seen = {present + 1, 0};
    rule.searched = false;
  }
}

// False if no rule goes on.
bool Matcher::StopSome() {
  some_have_enough_ = false;
  for (RuleState& rule : rules_) {
    if (!rule.searched || (!stopped_ && rule.queue.size() < rule.enough)) continue;
    rule.seen = {at_.epoch, stopped_ ? at_.node : at_.node + 1};
    rule.searched = false;
  }
  return !stopped_ && EnableSearched(false);
}

// Asked at each step of the walk, so that one e-node with many matches cannot take for ever.
bool Matcher::MustStop() {
  constexpr uint32_t kPeriod = 1024;
  if (++steps_ % kPeriod == 0 && may_go_on_ && !may_go_on_()) stopped_ = true;
  return stopped_;
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

// Whether no e-node of the class changed before this one: at one e-node of each class that no
// search has seen.
bool Matcher::IsNewClassAt(const EGraph& graph, ENodeId id) const {
  for (ENodeId at = graph.class_row(graph.row(id).cls).first_member; at.valid();
       at = graph.row(at).next_member) {
    const Row& row = graph.row(at);
    if (row.live() && IsBefore(graph, at, row)) return false;
  }
  return true;
}

void Matcher::RunChildren(const EGraph& graph, const TrieNode& node) {
  if (MustStop()) return;
  for (const Emission& emission : node.emissions) {
    if (emission.enabled) Emit(graph, emission);
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
  if (step.unchanged ? !IsBefore(graph, id, row) : IsAfter(graph, id, row)) return false;
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

void Matcher::Emit(const EGraph& graph, const Emission& emission) {
  if (emission.looks_at_leaves && !LeavesFit(graph, emission)) return;
  RuleState& rule = rules_[emission.rule];
  for (const uint32_t index : emission.registers) rule.queue.push_back(registers_[index]);
  for (const uint32_t index : emission.op_registers) rule.queue.push_back(ops_[index]);
  some_have_enough_ |= rule.queue.size() >= rule.enough;
}

bool Matcher::LeavesFit(const EGraph& graph, const Emission& emission) const {
  return std::ranges::all_of(emission.leaves, [&](const LeafUse& use) {
    const ENodeId node = leaves_[use.leaf].node;
    const Row& row = graph.row(node);
    return use.unchanged ? IsBefore(graph, node, row) : !IsAfter(graph, node, row);
  });
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
    mark.push_back({rule.queue.size(), rule.next, rule.seen});
}

void Matcher::Rollback() {
  for (size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].queue.Truncate(marks_.back()[i].size);
    rules_[i].next = marks_.back()[i].next;
    rules_[i].seen = marks_.back()[i].seen;
  }
  marks_.pop_back();
}

void Matcher::Forget() { marks_.pop_back(); }

}  // namespace quotient::egraph
