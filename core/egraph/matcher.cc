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
    : patterns_of_(rules.size()), class_lists_(large) {
  const auto fits = [](const Program* program) {
    return program->is_any_class || (program->changes_tell && MatchTrie::Fits(*program));
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
  for (const MatchTrie::GuardArgument& argument : node.arguments) {
    Binding& binding = bindings.emplace_back();
    switch (argument.sort) {
      case 'c':
        binding.id = ClassId(registers_[argument.index]);
        break;
      case 'o':
        binding.op = OpId(ops_[argument.index]);
        break;
      case 'l':
        binding.list =
            graph.node(lists_[argument.index].node).children.subspan(lists_[argument.index].start);
        break;
      default:
        binding.text = argument.text;
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

}  // namespace quotient::egraph
