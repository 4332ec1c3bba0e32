// The machine that runs the trie: for each changed e-node it searches depth-first along the chains
// of the e-graph.

#include "core/egraph/matcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/base/status_macros.h"

namespace quotient::egraph {

using Code = Instruction::Code;

namespace {

constexpr size_t kBatch = 64;
constexpr size_t kAhead = 8;  // Distance between stages of prefetching, in e-nodes.
constexpr ChangeLog::Position kNowhere = {0xffffffffu, 0xffffffffu};
constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

}  // namespace

Matcher::Matcher(const OpTable& table, std::span<const Rule* const> rules, uint32_t large)
    : patterns_of_(rules.size()), class_lists_(large) {
  const auto fits = [](const Program* program) {
    return program->is_any_class || (!program->deltas.empty() && MatchTrie::Fits(*program));
  };
  for (size_t rule = 0; rule < rules.size(); ++rule) {
    const std::vector<const Program*> programs = rules[rule]->programs();
    if (!std::ranges::all_of(programs, fits)) continue;
    for (const Program* program : programs) {
      const auto index = static_cast<uint32_t>(patterns_.size());
      Pattern& pattern = patterns_.emplace_back();
      pattern.rule = rules[rule];
      pattern.program = program;
      pattern.origin = static_cast<Origin>(rule + 1);
      pattern.alternative = static_cast<uint32_t>(patterns_of_[rule].size());
      pattern.of_classes = program->is_any_class;
      if (rules[rule]->program() == program) pattern.right = RightProgram::Make(*program);
      patterns_of_[rule].push_back(index);
      ops_.resize(std::max<size_t>(ops_.size(), program->num_op_variables));
      lists_.resize(std::max<size_t>(lists_.size(), program->num_lists()));
      trie_.Add(table, index, *program);
    }
  }
  registers_.resize(trie_.num_registers());
}

size_t Matcher::Pattern::match_size() const {
  return program->search.root_registers.size() + program->search.variable_registers.size() +
         program->num_op_variables + program->num_lists();
}

Match Matcher::Pattern::Unpacked(const EGraph& graph, std::span<const uint32_t> words) const {
  Match match;
  match.alternative = alternative;
  const size_t num_classes = words.size() - program->num_op_variables - program->num_lists();
  for (const uint32_t id : words.first(num_classes)) match.classes.emplace_back(id);
  for (const uint32_t op : words.subspan(num_classes, program->num_op_variables)) {
    match.ops.emplace_back(op);
  }
  for (uint32_t list = 0; list < program->num_lists(); ++list) {
    const ENodeId node(words[num_classes + program->num_op_variables + list]);
    const auto elements = graph.node(node).children.subspan(program->list_starts[list]);
    match.classes.insert(match.classes.end(), elements.begin(), elements.end());
    match.ops.emplace_back(static_cast<uint32_t>(elements.size()));
  }
  return match;
}

void Matcher::Search(EGraph& graph, const Bounds& bounds) {
  class_lists_.NextSearch();
  stopped_ = false;
  may_go_on_ = bounds.may_go_on;
  // Only a search that may stop early needs an order.
  if (!bounds.waiting.empty() || bounds.may_go_on) graph.SortChanges();
  for (size_t rule = 0; rule < patterns_of_.size(); ++rule) {
    const size_t bound = rule < bounds.waiting.size() ? bounds.waiting[rule] : kNoBound;
    for (const size_t index : patterns_of_[rule]) {
      Pattern& pattern = patterns_[index];
      const size_t words = pattern.match_size();
      pattern.found_at = kNowhere;
      pattern.enough =
          bound < (kNoBound - pattern.next) / words ? pattern.next + bound * words : kNoBound;
    }
  }
  const auto wants_more = [](const Pattern& pattern) {
    return pattern.queue.size() < pattern.enough;
  };
  const ChangeLog::Position present = graph.changes().begin();
  const ChangeLog::Position end = {present.epoch + 1, 0};
  // A pattern that is behind catches up alone; the others are searched together.
  for (Pattern& pattern : patterns_) {
    if (pattern.of_classes) {
      if (wants_more(pattern)) SearchClasses(graph, pattern);
      pattern.seen = end;
    } else if (pattern.seen < present && wants_more(pattern)) {
      pattern.searched = true;
      SearchPatterns(graph, pattern.seen);
    }
  }
  for (Pattern& pattern : patterns_) {
    pattern.searched = pattern.seen == present && wants_more(pattern);
  }
  SearchPatterns(graph, present);
  graph.AcknowledgeChanges(std::ranges::any_of(
      patterns_, [&end](const Pattern& pattern) { return pattern.seen < end; }));
}

// Matches each new class. A class that has been seen and is still canonical was canonical then.
void Matcher::SearchClasses(const EGraph& graph, Pattern& pattern) {
  const size_t words = pattern.match_size();
  for (; pattern.seen_classes < graph.class_bound() && pattern.queue.size() < pattern.enough;
       ++pattern.seen_classes) {
    const ClassId id(pattern.seen_classes);
    if (graph.Find(id) != id) continue;
    std::fill_n(pattern.queue.Append(words), words, id.value());
  }
}

// Searches for the patterns with `searched` set, which all have seen what changed before `from`.
void Matcher::SearchPatterns(const EGraph& graph, ChangeLog::Position from) {
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
  for (Pattern& pattern : patterns_) {
    if (pattern.searched && !stopped_) pattern.seen = {present + 1, 0};
    pattern.searched = false;
  }
}

// Enables what the patterns with `searched` set need. Returns false if nothing can be found.
bool Matcher::EnableSearched() {
  std::vector<bool> searched;
  for (const Pattern& pattern : patterns_) searched.push_back(pattern.searched);
  return trie_.Enable(std::move(searched));
}

// Prefetches what the searches around the e-nodes of a batch up to `i` will read.
void Matcher::PrefetchAround(const EGraph& graph, std::span<const ENodeId> batch, size_t i) {
  if (i < batch.size()) graph.store().PrefetchHeads(batch[i]);
  if (const size_t at = i - kAhead; at < batch.size()) graph.store().PrefetchFirst(batch[at]);
  if (const size_t at = i - kAhead * 3 / 2; at < batch.size())
    graph.store().PrefetchSecond(batch[at]);
}

// Returns false if no pattern continues.
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

// Stops the patterns that have enough matches, or all. Returns false if no pattern continues.
bool Matcher::StopSome() {
  some_have_enough_ = false;
  for (Pattern& pattern : patterns_) {
    if (!pattern.searched || (!stopped_ && pattern.queue.size() < pattern.enough)) continue;
    pattern.seen = {at_.epoch, stopped_ ? at_.node : at_.node + 1};
    if (stopped_ && pattern.found_at == at_) pattern.queue.Truncate(pattern.before_it);
    pattern.searched = false;
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
  if (class_lists_.IsLarge(cls)) {
    for (const Walk::Branch& branch : walk.branches) {
      const Node& next = trie_.node(branch.node);
      for (const ENodeId id : class_lists_.Members(graph, input, next.step.kind)) {
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
  if (class_lists_.IsLarge(cls)) {
    for (const Walk::Branch& branch : walk.branches) {
      const Node& next = trie_.node(branch.node);
      for (const ENodeId id : class_lists_.Uses(graph, input, next.step.kind, next.step.position)) {
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
  if (class_lists_.IsLarge(cls)) {
    const std::span<const ENodeId> members = class_lists_.Members(graph, input, next.step.kind);
    const std::span<const ClassId> children =
        class_lists_.ChildrenOfMembers(graph, input, next.step.kind, walk.position);
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
  if (step.list == kNoIndex ? children.size() != step.num_children
                            : children.size() < step.num_children) {
    return false;
  }
  if (step.list != kNoIndex) lists_[step.list] = {id, step.num_children};
  if (step.op_variable != kNoIndex) {
    if (step.op_bound && ops_[step.op_variable] != op.value()) return false;
    ops_[step.op_variable] = op.value();
  }
  uint32_t* const registers = registers_.data();
  if (step.node_class != kNoIndex) registers[step.node_class] = row.cls.value();
  for (size_t i = 0; i < step.num_children; ++i)
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
    if (argument.sort == 'l') {
      const List& list = lists_[node.guard_registers[i]];
      binding.list = graph.node(list.node).children.subspan(list.start);
    }
  }
  return node.guard->guard.holds(graph, bindings) != node.guard->negated;
}

void Matcher::Emit(const EGraph& graph, const Emission& emission) {
  if (emission.looks_at_leaves && !LeavesFit(graph, emission)) return;
  Pattern& pattern = patterns_[emission.program];
  if (pattern.found_at != at_) {
    pattern.found_at = at_;
    pattern.before_it = pattern.queue.size();
  }
  uint32_t* words =
      pattern.queue.Append(emission.registers.size() + emission.num_ops + emission.num_lists);
  const uint32_t* const registers = registers_.data();
  for (const uint32_t index : emission.registers) *words++ = registers[index];
  words = std::copy_n(ops_.begin(), emission.num_ops, words);
  for (uint32_t i = 0; i < emission.num_lists; ++i) *words++ = lists_[i].node.value();
  some_have_enough_ |= pattern.queue.size() >= pattern.enough;
}

bool Matcher::LeavesFit(const EGraph& graph, const Emission& emission) const {
  return std::ranges::all_of(emission.leaves, [&](const MatchTrie::LeafUse& use) {
    const ENodeId node = trie_.leaf_node(use.leaf);
    const Row& row = graph.store().row(node);
    return use.earlier ? IsBefore(node, row) : !IsAfter(node, row);
  });
}

size_t Matcher::num_waiting(size_t rule) const {
  size_t waiting = 0;
  for (const size_t index : patterns_of_[rule]) waiting += patterns_[index].num_waiting();
  return waiting;
}

absl::StatusOr<int64_t> Matcher::ApplyNext(EGraph& graph, size_t rule, size_t count) {
  int64_t changed = 0;
  for (const size_t index : patterns_of_[rule]) {
    Pattern& pattern = patterns_[index];
    const size_t taken = std::min(count, pattern.num_waiting());
    if (taken == 0) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t of_pattern, ApplyNextOf(graph, pattern, taken));
    changed += of_pattern;
    count -= taken;
  }
  return changed;
}

absl::StatusOr<int64_t> Matcher::ApplyNextOf(EGraph& graph, Pattern& pattern, size_t count) {
  const std::span<const uint32_t> matches = pattern.Waiting(0, count);
  pattern.next += matches.size();
  int64_t changed = 0;
  if (pattern.right.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(changed,
                              pattern.right->ApplyBatch(graph, matches, pattern.origin, batch_));
  } else {
    const size_t words = pattern.match_size();
    for (size_t i = 0; i < count; ++i) {
      const Match match = pattern.Unpacked(graph, matches.subspan(i * words, words));
      QUOTIENT_ASSIGN_OR_RETURN(const bool one, pattern.rule->Apply(graph, match, pattern.origin));
      changed += one;
    }
  }
  if (pattern.next == pattern.queue.size() && marks_.empty()) {
    pattern.queue.Clear();
    pattern.next = 0;
  }
  return changed;
}

// The pattern of a waiting match, and its index among those of this pattern.
std::pair<size_t, size_t> Matcher::PatternOfWaiting(size_t rule, size_t index) const {
  size_t at = 0;
  for (; index >= patterns_[patterns_of_[rule][at]].num_waiting(); ++at) {
    index -= patterns_[patterns_of_[rule][at]].num_waiting();
  }
  return {patterns_of_[rule][at], index};
}

std::span<const uint32_t> Matcher::Waiting(size_t rule, size_t index) const {
  const auto [pattern, at] = PatternOfWaiting(rule, index);
  return patterns_[pattern].Waiting(at, 1);
}

absl::StatusOr<bool> Matcher::ApplyWaiting(EGraph& graph, size_t rule, size_t index) const {
  const auto [of_pattern, at] = PatternOfWaiting(rule, index);
  const Pattern& pattern = patterns_[of_pattern];
  const std::span<const uint32_t> match = pattern.Waiting(at, 1);
  if (pattern.right.has_value()) return pattern.right->Apply(graph, match, pattern.origin);
  return pattern.rule->Apply(graph, pattern.Unpacked(graph, match), pattern.origin);
}

void Matcher::Mark() {
  class_lists_.Mark();
  std::vector<QueueMark>& mark = marks_.emplace_back();
  for (const Pattern& pattern : patterns_) {
    mark.push_back({pattern.queue.size(), pattern.next, pattern.seen, pattern.seen_classes});
  }
}

void Matcher::Rollback() {
  class_lists_.Rollback();
  for (size_t i = 0; i < patterns_.size(); ++i) {
    patterns_[i].queue.Truncate(marks_.back()[i].size);
    patterns_[i].next = marks_.back()[i].next;
    patterns_[i].seen = marks_.back()[i].seen;
    patterns_[i].seen_classes = marks_.back()[i].seen_classes;
  }
  marks_.pop_back();
}

void Matcher::Forget() {
  class_lists_.Forget();
  marks_.pop_back();
}

}  // namespace quotient::egraph
