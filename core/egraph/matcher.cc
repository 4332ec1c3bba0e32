// The machine that runs the trie: for each changed e-node it searches depth-first along the chains
// of the e-graph.

#include "core/egraph/matcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace quotient::egraph {

using Code = Instruction::Code;

namespace {

constexpr size_t kBatch = 64;
constexpr size_t kAhead = 8;  // Distance between stages of prefetching, in e-nodes.
constexpr ChangeLog::Position kNowhere = {0xffffffffu, 0xffffffffu};
constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

}  // namespace

Matcher::Matcher(const OpTable& table, std::span<const Rule* const> rules, uint32_t large)
    : rules_(rules.size()), lists_(large) {
  for (uint32_t i = 0; i < rules.size(); ++i) {
    const Program* const program = rules[i]->program();
    if (program == nullptr) continue;
    rules_[i].of_classes = program->is_any_class;
    if (program->deltas.empty() && !program->is_any_class) continue;
    if (!MatchTrie::Fits(*program)) continue;
    rules_[i].right = RightProgram::Make(*program);
    if (!takes(i)) continue;
    ops_.resize(std::max<size_t>(ops_.size(), program->num_op_variables));
    trie_.Add(table, i, *program);
  }
  registers_.resize(trie_.num_registers());
}

void Matcher::Search(EGraph& graph, const Bounds& bounds) {
  lists_.NextSearch();
  stopped_ = false;
  may_go_on_ = bounds.may_go_on;
  // Only a search that may stop early needs an order.
  if (!bounds.waiting.empty() || bounds.may_go_on) graph.SortChanges();
  for (size_t i = 0; i < rules_.size(); ++i) {
    RuleState& rule = rules_[i];
    const size_t bound = i < bounds.waiting.size() ? bounds.waiting[i] : kNoBound;
    const size_t words = takes(i) ? rule.right->match_size() : 1;
    rule.found_at = kNowhere;
    rule.enough = bound < (kNoBound - rule.next) / words ? rule.next + bound * words : kNoBound;
  }
  const auto wants_more = [](const RuleState& rule) {
    return rule.right.has_value() && rule.queue.size() < rule.enough;
  };
  const ChangeLog::Position present = graph.changes().begin();
  const ChangeLog::Position end = {present.epoch + 1, 0};
  // A rule that is behind catches up alone; the others are searched together.
  for (RuleState& rule : rules_) {
    if (rule.of_classes) {
      if (wants_more(rule)) SearchClasses(graph, rule);
      rule.seen = end;
    } else if (rule.seen < present && wants_more(rule)) {
      rule.searched = true;
      SearchRules(graph, rule.seen);
    }
  }
  for (RuleState& rule : rules_) rule.searched = rule.seen == present && wants_more(rule);
  SearchRules(graph, present);
  graph.AcknowledgeChanges(std::ranges::any_of(
      rules_, [&end](const RuleState& rule) { return rule.right.has_value() && rule.seen < end; }));
}

// Matches each new class. A class that has been seen and is still canonical was canonical then.
void Matcher::SearchClasses(const EGraph& graph, RuleState& rule) {
  for (; rule.seen_classes < graph.class_bound() && rule.queue.size() < rule.enough;
       ++rule.seen_classes) {
    const ClassId id(rule.seen_classes);
    if (graph.Find(id) != id) continue;
    const size_t words = rule.right->match_size();
    std::fill_n(rule.queue.Append(words), words, id.value());
  }
}

// Searches for the rules with `searched` set, which all have seen what changed before `from`.
void Matcher::SearchRules(const EGraph& graph, ChangeLog::Position from) {
  const uint32_t present = graph.changes().begin().epoch;
  if (!stopped_) trie_.LookUpLeaves(graph, from, registers_);
  if (!stopped_ && EnableSearched()) {
    ENodeId batch[kBatch];
    size_t size = 0;
    bool goes_on = true;
    graph.changes().ForEachSince(from, [&](ENodeId id, ChangeLog::Position at) {
      // All e-nodes of a batch changed in the same epoch.
      if (at.epoch != at_.epoch || size == kBatch) {
        goes_on = RunBatch(graph, {batch, std::exchange(size, 0)});
      }
      at_.epoch = at.epoch;
      if (trie_.StartsAt(graph.kind(id))) batch[size++] = id;
      return goes_on;
    });
    if (goes_on) RunBatch(graph, {batch, size});
  }
  for (RuleState& rule : rules_) {
    if (rule.searched && !stopped_) rule.seen = {present + 1, 0};
    rule.searched = false;
  }
}

// Enables what the rules with `searched` set need. Returns false if nothing can be found.
bool Matcher::EnableSearched() {
  std::vector<bool> searched;
  for (const RuleState& rule : rules_) searched.push_back(rule.searched);
  return trie_.Enable(std::move(searched));
}

// Prefetches what the searches around the e-nodes of a batch up to `i` will read.
void Matcher::PrefetchAround(const EGraph& graph, std::span<const ENodeId> batch, size_t i) {
  if (i < batch.size()) graph.store().PrefetchHeads(batch[i]);
  if (const size_t at = i - kAhead; at < batch.size()) graph.store().PrefetchFirst(batch[at]);
  if (const size_t at = i - kAhead * 3 / 2; at < batch.size())
    graph.store().PrefetchSecond(batch[at]);
}

// Returns false if no rule continues.
bool Matcher::RunBatch(const EGraph& graph, std::span<const ENodeId> batch) {
  const size_t ahead = graph.store().fits_in_cache() ? 0 : 2 * kAhead;
  for (size_t i = 0; i < batch.size() + ahead; ++i) {
    if (ahead > 0) PrefetchAround(graph, batch, i);
    const size_t at = i - ahead;
    if (at >= batch.size()) continue;
    at_.node = batch[at].value();
    RunSeeds(graph, batch[at]);
    if ((stopped_ || some_have_enough_) && !StopSome()) return false;
  }
  return true;
}

// Stops the rules that have enough matches, or all. Returns false if no rule continues.
bool Matcher::StopSome() {
  some_have_enough_ = false;
  for (RuleState& rule : rules_) {
    if (!rule.searched || (!stopped_ && rule.queue.size() < rule.enough)) continue;
    rule.seen = {at_.epoch, stopped_ ? at_.node : at_.node + 1};
    if (stopped_ && rule.found_at == at_) rule.queue.Truncate(rule.before_it);
    rule.searched = false;
  }
  return !stopped_ && EnableSearched();
}

// Called at each step, so that even one e-node with many matches cannot take long.
bool Matcher::MustStop() {
  constexpr uint32_t kPeriod = 1024;
  if (++steps_ % kPeriod == 0 && may_go_on_ && !may_go_on_()) stopped_ = true;
  return stopped_;
}

void Matcher::RunSeeds(const EGraph& graph, ENodeId id) {
  const Row& row = graph.store().row(id);
  if (!row.live()) return;
  for (const uint32_t seed : trie_.seeds(graph.kind(id))) {
    const Node& node = trie_.node(seed);
    if (node.enabled && Load(graph, node.step, id, row)) RunChildren(graph, node);
  }
}

void Matcher::RunChildren(const EGraph& graph, const Node& node) {
  if (MustStop()) return;
  for (const Emission& emission : node.emissions) {
    if (emission.enabled) Emit(graph, emission);
  }
  for (const Walk& walk : node.walks) {
    if (walk.kinds == 0) {
      RunOne(graph, trie_.node(walk.branches[0].node));
    } else if (walk.known != kNoIndex) {
      RunJoin(graph, walk);
    } else if (walk.code == Code::kDown) {
      RunDown(graph, walk);
    } else {
      RunUp(graph, walk);
    }
  }
}

void Matcher::TryAt(const EGraph& graph, const Node& next, ENodeId id) {
  const Row& row = graph.store().row(id);
  if (row.live() && Load(graph, next.step, id, row)) RunChildren(graph, next);
}

void Matcher::RunDown(const EGraph& graph, const Walk& walk) {
  const ClassId input(registers_[walk.input]);
  const ClassRow& cls = graph.store().class_row(input);
  if ((cls.member_kinds & walk.kinds) == 0) return;
  if (lists_.IsLarge(cls)) {
    for (const Walk::Branch& branch : walk.branches) {
      const Node& next = trie_.node(branch.node);
      for (const ENodeId id : lists_.Members(graph, input, next.step.kind)) {
        TryAt(graph, next, id);
      }
    }
    return;
  }
  graph.store().ForEachMember(input, [&](ENodeId id) {
    const Row& row = graph.store().row(id);
    if (!row.live()) return;
    const uint64_t here = MatchTrie::Wanted(graph.kind(id), 0);
    for (const Walk::Branch& branch : walk.branches) {
      if (branch.wanted != here) continue;
      const Node& next = trie_.node(branch.node);
      if (Load(graph, next.step, id, row)) RunChildren(graph, next);
    }
  });
}

void Matcher::RunUp(const EGraph& graph, const Walk& walk) {
  const ClassId input(registers_[walk.input]);
  const ClassRow& cls = graph.store().class_row(input);
  if ((cls.use_kinds & walk.kinds) == 0) return;
  if (lists_.IsLarge(cls)) {
    for (const Walk::Branch& branch : walk.branches) {
      const Node& next = trie_.node(branch.node);
      for (const ENodeId id : lists_.Uses(graph, input, next.step.kind, next.step.position)) {
        TryAt(graph, next, id);
      }
    }
    return;
  }
  graph.store().ForEachUse(input, [&](ENodeId id, uint32_t position) {
    const Row& row = graph.store().row(id);
    if (!row.live()) return;
    const uint64_t here = MatchTrie::Wanted(graph.kind(id), position);
    for (const Walk::Branch& branch : walk.branches) {
      if (branch.wanted != here) continue;
      const Node& next = trie_.node(branch.node);
      if (Load(graph, next.step, id, row)) RunChildren(graph, next);
    }
  });
}

// Visits the members of a class that have a known child.
void Matcher::RunJoin(const EGraph& graph, const Walk& walk) {
  const ClassId input(registers_[walk.input]);
  const ClassId known(registers_[walk.known]);
  const Node& next = trie_.node(walk.branches[0].node);
  const ClassRow& cls = graph.store().class_row(input);
  if ((cls.member_kinds & walk.kinds) == 0) return;
  if ((graph.store().class_row(known).use_kinds &
       ClassRow::UseBit(next.step.kind, walk.position)) == 0) {
    return;
  }
  if (lists_.IsLarge(cls)) {
    const std::span<const ENodeId> members = lists_.Members(graph, input, next.step.kind);
    const std::span<const ClassId> children =
        lists_.ChildrenOfMembers(graph, input, next.step.kind, walk.position);
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i] == known) TryAt(graph, next, members[i]);
    }
    return;
  }
  graph.store().ForEachMember(input, [&](ENodeId id) {
    const Row& row = graph.store().row(id);
    if (!row.live() || row.listed() || row.child[walk.position] != known) return;
    if (graph.kind(id) != next.step.kind) return;
    if (Load(graph, next.step, id, row)) RunChildren(graph, next);
  });
}

void Matcher::RunOne(const EGraph& graph, const Node& child) {
  const bool passes = child.step.code == Code::kGuard
                          ? Holds(graph, child)
                          : registers_[child.step.input] == registers_[child.step.other];
  if (passes) RunChildren(graph, child);
}

// Whether the e-node, which is of the step's kind, fits. If so, puts its parts into registers.
bool Matcher::Load(const EGraph& graph, const Instruction& step, ENodeId id, const Row& row) {
  const OpId op = row.op();
  if (step.op.valid() && op != step.op) return false;
  if (step.earlier ? !IsBefore(id, row) : IsAfter(id, row)) return false;
  const std::span<const ClassId> children =
      row.listed() ? graph.node(id).children : std::span<const ClassId>(row.child, row.arity());
  if (children.size() != step.num_children) return false;
  if (step.op_variable != kNoIndex) {
    if (step.op_bound && ops_[step.op_variable] != op.value()) return false;
    ops_[step.op_variable] = op.value();
  }
  uint32_t* const registers = registers_.data();
  if (step.node_class != kNoIndex) registers[step.node_class] = row.cls.value();
  for (size_t i = 0; i < children.size(); ++i)
    registers[step.first_child + i] = children[i].value();
  return true;
}

bool Matcher::Holds(const EGraph& graph, const Node& node) const {
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
  if (rule.found_at != at_) {
    rule.found_at = at_;
    rule.before_it = rule.queue.size();
  }
  uint32_t* words = rule.queue.Append(emission.registers.size() + emission.num_ops);
  const uint32_t* const registers = registers_.data();
  for (const uint32_t index : emission.registers) *words++ = registers[index];
  std::copy_n(ops_.begin(), emission.num_ops, words);
  some_have_enough_ |= rule.queue.size() >= rule.enough;
}

bool Matcher::LeavesFit(const EGraph& graph, const Emission& emission) const {
  return std::ranges::all_of(emission.leaves, [&](const MatchTrie::LeafUse& use) {
    const ENodeId node = trie_.leaf_node(use.leaf);
    const Row& row = graph.store().row(node);
    return use.earlier ? IsBefore(node, row) : !IsAfter(node, row);
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
  absl::StatusOr<int64_t> changed =
      state.right->ApplyBatch(graph, matches, static_cast<Origin>(rule + 1), batch_);
  if (state.next == state.queue.size() && marks_.empty()) {
    state.queue.Clear();
    state.next = 0;
  }
  return changed;
}

std::span<const uint32_t> Matcher::Waiting(size_t rule, size_t index) const {
  const RuleState& state = rules_[rule];
  const size_t words = state.right->match_size();
  return state.queue.words().subspan(state.next + index * words, words);
}

absl::StatusOr<bool> Matcher::ApplyWaiting(EGraph& graph, size_t rule, size_t index) const {
  return rules_[rule].right->Apply(graph, Waiting(rule, index), static_cast<Origin>(rule + 1));
}

void Matcher::Mark() {
  lists_.Mark();
  std::vector<QueueMark>& mark = marks_.emplace_back();
  for (const RuleState& rule : rules_) {
    mark.push_back({rule.queue.size(), rule.next, rule.seen, rule.seen_classes});
  }
}

void Matcher::Rollback() {
  lists_.Rollback();
  for (size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].queue.Truncate(marks_.back()[i].size);
    rules_[i].next = marks_.back()[i].next;
    rules_[i].seen = marks_.back()[i].seen;
    rules_[i].seen_classes = marks_.back()[i].seen_classes;
  }
  marks_.pop_back();
}

void Matcher::Forget() {
  lists_.Forget();
  marks_.pop_back();
}

}  // namespace quotient::egraph
