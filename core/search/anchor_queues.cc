#include "core/search/anchor_queues.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace quotient::search {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::KindId;

namespace {

// Remembers whether the sink wants no more.
class Watched : public egraph::MatchSink {
 public:
  explicit Watched(egraph::MatchSink& sink) : sink_(sink) {}
  bool Add(egraph::Match match) override {
    full_ = !sink_.Add(std::move(match));
    return !full_;
  }
  bool full() const { return full_; }

 private:
  egraph::MatchSink& sink_;
  bool full_ = false;
};

}  // namespace

AnchorQueues::AnchorQueues(std::span<const egraph::Rule* const> rules) {
  for (const egraph::Rule* const rule : rules) {
    const egraph::Anchors* const anchors = rule->anchors();
    queue_of_.push_back(anchors == nullptr ? kNone : queues_.size());
    if (anchors == nullptr) continue;
    if (anchors->of_any_kind) queues_of_any_kind_.push_back(queues_.size());
    for (const KindId kind : anchors->kinds) {
      if (kind.value() >= queues_of_kind_.size()) queues_of_kind_.resize(kind.value() + 1);
      queues_of_kind_[kind.value()].push_back(queues_.size());
    }
    queues_.push_back({.rule = rule});
  }
}

template <typename Visit>
void AnchorQueues::ForEachAround(const EGraph& graph, ENodeId node, const Visit& visit) {
  const egraph::NodeStore& store = graph.store();
  visit(node);
  store.ForEachUse(graph.class_of(node), [&](ENodeId use, uint32_t /*position*/) { visit(use); });
  for (const ClassId child : graph.node(node).children) store.ForEachMember(child, visit);
}

void AnchorQueues::Add(const EGraph& graph, ENodeId node) {
  const auto add = [&](size_t queue) { queues_[queue].anchors.push_back(node); };
  const size_t kind = graph.kind(node).value();
  if (kind < queues_of_kind_.size()) std::ranges::for_each(queues_of_kind_[kind], add);
  std::ranges::for_each(queues_of_any_kind_, add);
}

void AnchorQueues::Follow(EGraph& graph) {
  if (queues_.empty()) return;
  graph.SortChanges();
  absl::flat_hash_set<ENodeId> added;
  graph.changes().ForEachSince(seen_, [&](ENodeId changed, egraph::ChangeLog::Position) {
    if (!graph.live(changed)) return true;
    ForEachAround(graph, changed, [&](ENodeId node) {
      if (graph.live(node) && added.insert(node).second) Add(graph, node);
    });
    return true;
  });
  seen_ = {graph.changes().epoch() + 1, 0};
}

void AnchorQueues::Search(const EGraph& graph, size_t rule, egraph::MatchSink& sink) {
  Queue& queue = queues_[queue_of_[rule]];
  absl::flat_hash_set<ENodeId> known;
  std::vector<ENodeId> anchors;
  for (size_t i = queue.next; i < queue.anchors.size(); ++i) {
    const ENodeId node = queue.anchors[i];
    if (graph.live(node) && known.insert(node).second) anchors.push_back(node);
  }
  if (!anchors.empty()) {
    Watched watched(sink);
    queue.rule->SearchAt(graph, anchors, watched);
    if (watched.full()) return;
  }
  queue.next = queue.anchors.size();
  if (!marks_.empty()) return;
  queue.anchors.clear();
  queue.next = 0;
}

void AnchorQueues::Mark() {
  Marked& mark = marks_.emplace_back();
  mark.seen = seen_;
  mark.ends.reserve(queues_.size());
  for (const Queue& queue : queues_) mark.ends.push_back({queue.anchors.size(), queue.next});
}

void AnchorQueues::Rollback() {
  seen_ = marks_.back().seen;
  for (size_t i = 0; i < queues_.size(); ++i) {
    queues_[i].anchors.resize(marks_.back().ends[i].size);
    queues_[i].next = marks_.back().ends[i].next;
  }
  marks_.pop_back();
}

}  // namespace quotient::search
