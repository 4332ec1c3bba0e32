// The matches that a matcher has found and that wait: how they are read, applied and undone.

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "core/egraph/matcher.h"

namespace quotient::egraph {

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
  mark.reserve(patterns_.size());
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
