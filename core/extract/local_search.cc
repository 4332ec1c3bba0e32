#include "core/extract/local_search.h"

#include <cmath>

namespace quotient::extract {
namespace {

// Rounds of moves between equals before giving up on getting off a plateau.
constexpr int kSidewaysRounds = 2;
// Classes that an adoption looks upwards from.
constexpr size_t kMaxReached = 64;

}  // namespace

LocalSearch::LocalSearch(const Instance& instance, SharedSelection& selection,
                         const StopCondition& stop)
    : instance_(instance),
      selection_(selection),
      stop_(stop),
      tolerance_(selection.cost() * kRelativeTolerance),
      taken_in_(instance.num_classes(), 0) {}

void LocalSearch::Run() {
  for (int sideways_left = kSidewaysRounds; !stop_.ShouldStop();) {
    selection_.RecomputeCost();
    const Score before = Now();
    while (SwitchPass(Sideways::kRefuse)) {
    }
    while (AdoptPass()) {
    }
    if (Better(Now(), before)) {
      sideways_left = kSidewaysRounds;
      continue;
    }
    if (sideways_left-- == 0) break;
    SwitchPass(Sideways::kTake);
  }
  selection_.Commit();
}

bool LocalSearch::Better(const Score& a, const Score& b) const {
  if (std::abs(a.cost - b.cost) > tolerance_) return a.cost < b.cost;
  if (a.num_live != b.num_live) return a.num_live < b.num_live;
  return a.num_rewritten < b.num_rewritten;
}

bool LocalSearch::SwitchPass(Sideways sideways) {
  bool improved = false;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (stop_.ShouldStop()) return false;
    if (selection_.live(Class(i))) improved |= SwitchClass(Class(i), sideways);
  }
  return improved;
}

bool LocalSearch::SwitchClass(Class id, Sideways sideways) {
  bool improved = false;
  for (Node node : instance_.nodes[id.value()]) {
    if (node == selection_.choice(id)) continue;
    const Score before = Now();
    const size_t mark = selection_.Mark();
    if (!selection_.Choose(node)) continue;
    if (Better(Now(), before)) {
      improved = true;
    } else if (sideways == Sideways::kTake && Equal(Now(), before)) {
      return improved;  // one step sideways for each class is enough
    } else {
      selection_.UndoTo(mark);
    }
  }
  return improved;
}

bool LocalSearch::AdoptPass() {
  bool improved = false;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (stop_.ShouldStop()) return false;
    improved |= Adopt(Class(i));
  }
  return improved;
}

bool LocalSearch::Adopt(Class adopted) {
  CollectAlternatives(adopted);
  if (alternatives_.size() < 2) return false;  // a switch
  const Score before = Now();
  const size_t mark = selection_.Mark();
  replaced_.clear();
  for (Node node : alternatives_) {
    const Node old = selection_.choice(instance_.class_of[node.value()]);
    if (selection_.Choose(node)) replaced_.push_back(old);
  }
  DropWhatDoesNotPay();
  if (Better(Now(), before)) return true;
  selection_.UndoTo(mark);
  return false;
}

// Upwards from `adopted`, nearest first: live classes end the walk, others are passed if an e-node
// of no cost leads through them.
void LocalSearch::CollectAlternatives(Class adopted) {
  alternatives_.clear();
  ++adoption_;
  taken_in_[adopted.value()] = adoption_;
  reached_.assign(1, adopted);
  for (size_t i = 0; i < reached_.size() && i < kMaxReached; ++i) {
    for (Node node : instance_.parents[reached_[i].value()]) {
      const Class id = instance_.class_of[node.value()];
      if (taken_in_[id.value()] == adoption_) continue;
      if (selection_.live(id) && selection_.choice(id) == node) continue;
      if (!selection_.live(id)) {
        if (instance_.cost[node.value()] > 0) continue;
        reached_.push_back(id);
      }
      taken_in_[id.value()] = adoption_;
      alternatives_.push_back(node);
    }
  }
}

void LocalSearch::DropWhatDoesNotPay() {
  for (Node old : replaced_) {
    const Score before = Now();
    const size_t mark = selection_.Mark();
    if (selection_.Choose(old) && !Better(Now(), before)) selection_.UndoTo(mark);
  }
}

}  // namespace quotient::extract
