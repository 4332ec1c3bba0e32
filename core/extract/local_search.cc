#include "core/extract/local_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

namespace quotient::extract {
namespace {

// Rounds of moves between equal selections before giving up on a plateau.
constexpr int kSidewaysRounds = 2;
// Most classes whose parents an adoption looks at.
constexpr size_t kMaxReached = 64;
// Most second adoptions tried for each first one.
constexpr size_t kMaxSecond = 4;

// No known network needs more than a hundred steps per e-node.
int64_t StepsFor(const Instance& instance) {
  constexpr int64_t kAtLeast = 1 << 22;
  constexpr int64_t kPerNode = 1 << 8;
  return kAtLeast + kPerNode * static_cast<int64_t>(instance.num_nodes());
}

double GrainOf(double cost) {
  const double grain = std::exp2(std::ceil(std::log2(cost * kRelativeTolerance)));
  return std::isnormal(grain) ? grain : std::numeric_limits<double>::min();
}

}  // namespace

LocalSearch::LocalSearch(const Instance& instance, const Users& users, SharedSelection& selection,
                         Depth depth, const StopCondition& stop)
    : instance_(instance),
      users_(users),
      selection_(selection),
      depth_(depth),
      stop_(stop),
      grain_(GrainOf(selection.cost())),
      most_steps_(selection.steps() + StepsFor(instance)),
      settled_at_(instance.num_classes(), -1),
      chosen_in_(instance.num_classes(), 0),
      left_in_(instance.num_classes(), 0),
      voted_by_(instance.num_classes(), 0),
      vote_at_(instance.num_classes(), 0),
      kept_in_(instance.num_classes(), 0) {}

void LocalSearch::Run() {
  for (int sideways_left = kSidewaysRounds; !ShouldStop();) {
    const Score before = selection_.score();
    while (SwitchPass(Sideways::kReject)) {
    }
    if (moves_ != moves_at_last_adoptions_) {
      while (AdoptPass()) {
      }
    }
    if (Better(selection_.score(), before)) {
      sideways_left = kSidewaysRounds;
      continue;
    }
    if (sideways_left-- == 0) break;
    const int64_t moves_before = moves_;
    SwitchPass(Sideways::kAccept);
    if (moves_ == moves_before) break;
  }
  selection_.Commit();
}

bool LocalSearch::Better(const Score& a, const Score& b) const {
  if (a.num_recomputed != b.num_recomputed) return a.num_recomputed < b.num_recomputed;
  if (std::abs(a.cost - b.cost) > grain_) return a.cost < b.cost;  // Rounding makes no difference.
  const double a_cost = Rounded(a.cost);
  const double b_cost = Rounded(b.cost);
  if (a_cost != b_cost) return a_cost < b_cost;
  if (a.num_live != b.num_live) return a.num_live < b.num_live;
  return a.num_rewritten < b.num_rewritten;
}

bool LocalSearch::SwitchPass(Sideways sideways) {
  bool improved = false;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (!selection_.live(Class(i)) || instance_.nodes[i].size() < 2) continue;
    // Nothing has moved since there was nothing to gain here.
    if (sideways == Sideways::kReject && settled_at_[i] == moves_) continue;
    if (ShouldStop()) return false;
    const int64_t moves_before = moves_;
    improved |= SwitchClass(Class(i), sideways);
    if (moves_ == moves_before) settled_at_[i] = moves_;
  }
  return improved;
}

// Takes the best improvement that closes no cycle.
bool LocalSearch::SwitchClass(Class id, Sideways sideways) {
  const Score now = selection_.score();
  candidates_.clear();
  const double limit =
      now.num_recomputed > 0 ? std::numeric_limits<double>::infinity() : now.cost + grain_;
  selection_.ForEachSwitch(id, limit, [&](Node node, const Score& score) {
    const bool equal = sideways == Sideways::kAccept && Equal(score, now);
    if (equal || Better(score, now)) candidates_.push_back({node, score});
  });
  if (candidates_.size() > 1) {
    std::ranges::stable_sort(candidates_, {}, [](const Candidate& candidate) {
      const Score& score = candidate.score;
      return std::tuple(score.num_recomputed, score.cost, score.num_live, score.num_rewritten);
    });
  }
  for (const Candidate& candidate : candidates_) {
    if (!selection_.Choose(candidate.node)) continue;
    ++moves_;
    return Better(selection_.score(), now);
  }
  return false;
}

bool LocalSearch::AdoptPass() {
  shares_ = selection_.Shares();
  bool improved = false;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (ShouldStop()) return false;
    improved |= Adopt(Class(i));
  }
  if (!improved) moves_at_last_adoptions_ = moves_;
  return improved;
}

bool LocalSearch::Adopt(Class adopted) {
  // A single alternative is a switch.
  const std::span<const User> users = users_[adopted.value()];
  if (users.empty() || (users.size() == 1 && users.front().cost > 0)) return false;
  CollectAlternatives(adopted);
  if (alternatives_.size() < 2 || !MayImprove(adopted)) return false;
  const Score before = selection_.score();
  const size_t mark = selection_.Mark();
  ChooseAlternatives();
  if (depth_ == Depth::kTwo && !Better(selection_.score(), before)) TrySecondAdoption(before);
  if (Better(selection_.score(), before)) {
    ++moves_;
    return true;
  }
  selection_.UndoTo(mark);
  return false;
}

void LocalSearch::ChooseAlternatives() {
  const auto recomputed = selection_.score().num_recomputed;
  replaced_.clear();
  for (Node node : alternatives_) {
    if (PollStop()) break;
    const Node old = selection_.choice(instance_.class_of[node.value()]);
    if (selection_.Choose(node)) replaced_.push_back(old);
  }
  // The cheapest e-node of a class may compute inside of itself what others compute, too. The class
  // may then have a better one.
  if (selection_.score().num_recomputed > recomputed) {
    for (Node node : alternatives_) {
      if (PollStop()) break;
      SwitchClass(instance_.class_of[node.value()], Sideways::kReject);
    }
  }
  RevertUnprofitable();
}

// Tries a second adoption. A class that has lost some of its users to the first one, but not all,
// is still paid for. Another adoption that suits the remaining users may make both together worth
// it.
void LocalSearch::TrySecondAdoption(const Score& before) {
  double remaining_cost = 0;
  left_.clear();
  for (const Node old : replaced_) {
    for (const Class id : instance_.children[old.value()]) {
      if (!selection_.live(id)) continue;
      if (std::exchange(left_in_[id.value()], adoption_) == adoption_) continue;
      const double cost = instance_.cost[selection_.choice(id).value()];
      if (cost == 0) continue;
      remaining_cost += cost;
      left_.push_back(id);
    }
  }
  if (selection_.cost() - before.cost >= remaining_cost) return;
  votes_.clear();
  for (const Class id : left_) VoteForReplacements(id);
  std::ranges::stable_sort(votes_, std::ranges::greater(), &Vote::count);
  if (votes_.size() > kMaxSecond) votes_.resize(kMaxSecond);
  for (const Vote& vote : votes_) {
    if (vote.count < 2) break;
    const size_t mark = selection_.Mark();
    CollectAlternatives(vote.adopted);
    ChooseAlternatives();
    if (Better(selection_.score(), before)) return;
    selection_.UndoTo(mark);
  }
}

// Each user of the class votes for all classes that it could use instead and that are not live.
void LocalSearch::VoteForReplacements(Class id) {
  for (const Node user : instance_.parents[id.value()]) {
    const Class of = instance_.class_of[user.value()];
    if (!selection_.live(of) || selection_.choice(of) != user) continue;
    ++num_voters_;
    for (const Node node : instance_.nodes[of.value()]) VoteForChildren(node);
  }
}

// Votes for the children of the node. A voter has one vote for each class, however many of its
// e-nodes use it.
void LocalSearch::VoteForChildren(Node node) {
  for (const Class child : instance_.children[node.value()]) {
    if (selection_.live(child)) continue;
    if (std::exchange(voted_by_[child.value()], num_voters_) == num_voters_) continue;
    uint32_t& at = vote_at_[child.value()];
    if (at < votes_.size() && votes_[at].adopted == child) {
      ++votes_[at].count;
    } else {
      at = static_cast<uint32_t>(votes_.size());
      votes_.push_back({child, 1});
    }
  }
}

// Collects alternatives upwards from `adopted`, nearest first. The walk ends at live classes and
// passes others if an e-node of no cost leads through them. Among several e-nodes of a class the
// cheapest is taken, which has an epilogue or is part of a shared kernel where that is possible.
void LocalSearch::CollectAlternatives(Class adopted) {
  alternatives_.clear();
  ++adoption_;
  chosen_in_[adopted.value()] = adoption_;
  reached_.assign(1, adopted);
  for (size_t i = 0; i < reached_.size() && i < kMaxReached; ++i) {
    const Class via = reached_[i];  // The next call may move what reached_ holds.
    const std::span<const User> users = users_[via.value()];
    num_examined_ += std::ssize(users);
    for (const User& user : users) AddAlternative(via, user);
  }
}

void LocalSearch::AddAlternative(Class via, const User& user) {
  const Class id = user.id;
  const bool live = selection_.live(id);
  if (!live && user.cost > 0) return;  // Most are of this kind.
  if (chosen_in_[id.value()] == adoption_) return;
  if (live) {
    // The alternative costs more than the class's share. It could still help by freeing what the
    // class shares with others, but in most cases such an alternative only gets in the way. Classes
    // that were not live when the pass began have no share and are left out, too.
    if (user.cost >= shares_[id.value()]) return;
    const std::span<const Class> used = instance_.children[selection_.choice(id).value()];
    if (std::ranges::find(used, via) != used.end()) return;
  } else {
    reached_.push_back(id);
  }
  chosen_in_[id.value()] = adoption_;
  alternatives_.push_back(user.cheapest);
}

// Whether the adoption may lower the cost. It frees no more than the current e-nodes and the shares
// of those of their children that the new e-nodes do not keep. A rough bound comes first, since it
// tells how far the cone of X needs to be walked.
bool LocalSearch::MayImprove(Class adopted) {
  double gain_bound = 0;
  for (const Node node : alternatives_) {
    const double share = shares_[instance_.class_of[node.value()].value()];
    gain_bound += std::max(0.0, share - instance_.cost[node.value()]);
  }
  if (gain_bound <= grain_) return false;
  double gain = -selection_.WalkCone(adopted, gain_bound,
                                     [this](Class id) { kept_in_[id.value()] = adoption_; });
  if (gain < -gain_bound) return false;
  for (const Node node : alternatives_) {
    if (!selection_.live(instance_.class_of[node.value()])) continue;  // There is nothing to free.
    const std::span<const Class> children = instance_.children[node.value()];
    const Node current = selection_.choice(instance_.class_of[node.value()]);
    double freed = instance_.cost[current.value()];
    for (const Class child : instance_.children[current.value()]) {
      if (kept_in_[child.value()] == adoption_) continue;
      if (std::ranges::find(children, child) != children.end()) continue;
      freed += shares_[child.value()] / selection_.uses(child);
    }
    gain += std::max(0.0, freed - instance_.cost[node.value()]);
  }
  return gain > grain_;
}

void LocalSearch::RevertUnprofitable() {
  for (Node old : replaced_) {
    if (PollStop()) break;
    const Score before = selection_.score();
    const size_t mark = selection_.Mark();
    if (selection_.Choose(old) && !Better(selection_.score(), before)) selection_.UndoTo(mark);
  }
}

}  // namespace quotient::extract
