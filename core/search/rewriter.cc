#include "core/search/rewriter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/egraph/explain.h"

namespace quotient::search {
namespace {

using egraph::ClassId;
using egraph::Match;
using egraph::Origin;
using egraph::RightProgram;

// Number of matches between two looks at the clock.
constexpr int64_t kStopCheckPeriod = 32;

// Collects the matches of one rule that were not seen before.
class NewMatches : public egraph::MatchSink {
 public:
  NewMatches(size_t rule, size_t limit, const StopCondition& stop, MatchMemory& memory,
             std::vector<Match>& matches)
      : rule_(rule), limit_(limit), stop_(stop), memory_(memory), matches_(matches) {}

  bool Add(Match match) override {
    if (++offered_ % kStopCheckPeriod == 0 && stop_.ShouldStop()) return false;
    const MatchMemory::Key key = MatchMemory::KeyOf(rule_, match);
    if (memory_.Contains(key)) return true;
    memory_.Insert(key);
    matches_.push_back(std::move(match));
    return --limit_ > 0;
  }

 private:
  const size_t rule_;
  size_t limit_;
  const StopCondition& stop_;
  MatchMemory& memory_;
  std::vector<Match>& matches_;
  int64_t offered_ = 0;
};

}  // namespace

Rewriter::Rewriter(egraph::EGraph* graph, std::span<const egraph::Rule* const> rules)
    : graph_(*graph),
      rules_(rules),
      matcher_(graph->table(), rules),
      anchors_(rules),
      queues_(rules.size()) {}

void Rewriter::Search(std::span<const size_t> wanted, const StopCondition& stop) {
  egraph::Matcher::Bounds bounds;
  bounds.waiting.assign(wanted.begin(), wanted.end());
  bounds.may_go_on = [&stop] { return !stop.ShouldStop(); };
  anchors_.Follow(graph_);
  matcher_.Search(graph_, bounds);
  for (size_t rule = 0; rule < rules_.size() && !stop.ShouldStop(); ++rule) {
    if (!matcher_.takes(rule)) SearchByItself(rule, wanted[rule], stop);
  }
}

void Rewriter::SearchByItself(size_t rule, size_t wanted, const StopCondition& stop) {
  Queue& queue = queues_[rule];
  const size_t waiting = num_waiting(rule);
  if (waiting >= wanted) return;
  if (marks_.empty() && waiting == 0) queue = {};
  NewMatches sink(rule, wanted - waiting, stop, memory_, queue.matches);
  if (anchors_.takes(rule)) {
    anchors_.Search(graph_, rule, sink);
  } else {
    rules_[rule]->Search(graph_, sink);
  }
}

size_t Rewriter::num_waiting(size_t rule) const {
  if (matcher_.takes(rule)) return matcher_.num_waiting(rule);
  return queues_[rule].matches.size() - queues_[rule].next;
}

bool Rewriter::Touches(size_t rule, size_t index, const std::vector<bool>& classes) const {
  const auto among = [&](ClassId id) -> bool { return classes[graph_.Find(id).value()]; };
  if (matcher_.takes(rule)) return among(ClassId(matcher_.Waiting(rule, index)[0]));
  const Queue& queue = queues_[rule];
  return std::ranges::any_of(queue.matches[queue.next + index].classes, among);
}

size_t Rewriter::BatchFor(int64_t room) {
  constexpr int64_t kENodesPerMatch = 16;  // More than most right sides add.
  constexpr auto kMost = static_cast<int64_t>(RightProgram::kMaxBatch);
  return static_cast<size_t>(std::clamp<int64_t>(room / kENodesPerMatch, 1, kMost));
}

absl::StatusOr<int64_t> Rewriter::ApplyNext(size_t rule, size_t count) {
  int64_t changed = 0;
  for (count = std::min(count, num_waiting(rule)); count > 0;) {
    const bool taken = matcher_.takes(rule);
    const size_t batch = taken ? std::min(count, RightProgram::kMaxBatch) : 1;
    absl::StatusOr<int64_t> applied;
    if (taken) {
      applied = matcher_.ApplyNext(graph_, rule, batch);
    } else {
      Queue& queue = queues_[rule];
      applied =
          rules_[rule]->Apply(graph_, queue.matches[queue.next++], static_cast<Origin>(rule + 1));
    }
    QUOTIENT_RETURN_IF_ERROR(ExplainRefusal(applied.status()));
    changed += *applied;
    count -= batch;
  }
  return changed;
}

absl::StatusOr<bool> Rewriter::ApplyWaiting(size_t rule, size_t index) {
  absl::StatusOr<bool> changed;
  if (matcher_.takes(rule)) {
    changed = matcher_.ApplyWaiting(graph_, rule, index);
  } else {
    const Queue& queue = queues_[rule];
    changed = rules_[rule]->Apply(graph_, queue.matches[queue.next + index],
                                  static_cast<Origin>(rule + 1));
  }
  QUOTIENT_RETURN_IF_ERROR(ExplainRefusal(changed.status()));
  return changed;
}

// If the graph records proofs, turns a refused union into an error and a log line that explain it.
// A rule may have treated the refusal as "did not fire" and returned OK; the refusal is then only
// logged.
absl::Status Rewriter::ExplainRefusal(const absl::Status& status) {
  if (!graph_.refused_union().has_value()) return status;
  const egraph::UnionRecord refused = *graph_.refused_union();
  graph_.ForgetRefusedUnion();
  if (graph_.proofs() == nullptr) return status;
  const std::string text = egraph::RefusalText(graph_, rules_, refused);
  Log().error("{}", Escaped(text));
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), ": ", text));
}

void Rewriter::Mark() {
  graph_.Mark();
  matcher_.Mark();
  anchors_.Mark();
  memory_.Mark();
  std::vector<QueueSize>& sizes = marks_.emplace_back();
  sizes.reserve(queues_.size());
  for (const Queue& queue : queues_) sizes.push_back({queue.matches.size(), queue.next});
}

void Rewriter::Rollback() {
  graph_.Rollback();
  matcher_.Rollback();
  anchors_.Rollback();
  memory_.Rollback();
  for (size_t rule = 0; rule < queues_.size(); ++rule) {
    queues_[rule].matches.resize(marks_.back()[rule].size);
    queues_[rule].next = marks_.back()[rule].next;
  }
  marks_.pop_back();
}

void Rewriter::Forget() {
  graph_.Forget();
  matcher_.Forget();
  anchors_.Forget();
  memory_.Forget();
  marks_.pop_back();
}

}  // namespace quotient::search
