#pragma once

// LocalSearch: hill climbing on the score of a SharedSelection. Scores are compared after rounding
// costs down to multiples of a negligible difference. This is a strict order, so every improvement
// brings the search closer to its end.
//
// There are two moves. switch(c) changes the e-node of one live class. adopt(X) switches every live
// class that has an alternative e-node with child X to it at once, then switches those back that do
// not lower the cost, and keeps the result if the total has fallen. Merged operators need this: a
// single class gains nothing by using the merged one, but all together do. Alternatives that reach
// X through e-nodes of no cost (a split or reshape in between) count as well. Most adoptions are
// ruled out in advance by comparing an upper bound of what the classes could free together with the
// cost of X. At depth two, an adoption that does not lower the cost is followed by a second one,
// for the classes that still use a class from which the first one took other users.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"
#include "core/extract/shared_selection.h"
#include "core/extract/users.h"

namespace quotient::extract {

class LocalSearch {
 public:
  // Number of adoptions tried in a row if the first alone does not lower the cost.
  enum class Depth { kOne, kTwo };

  // Borrows all arguments.
  LocalSearch(const Instance& instance, const Users& users, SharedSelection& selection, Depth depth,
              const StopCondition& stop);

  // Climbs until neither move helps, `stop` fires, or a limit of steps that depends on the size of
  // the graph is reached. The limit is needed since a move may remove everything below it, and
  // there are as many moves as e-nodes.
  void Run();

 private:
  enum class Sideways { kReject, kAccept };
  struct Candidate {
    Node node;
    Score score;
  };

  double Rounded(double cost) const { return std::floor(cost / grain_) * grain_; }
  bool Better(const Score& a, const Score& b) const;
  bool Equal(const Score& a, const Score& b) const { return !Better(a, b) && !Better(b, a); }

  bool SwitchPass(Sideways sideways);
  bool SwitchClass(Class id, Sideways sideways);
  bool AdoptPass();
  bool Adopt(Class adopted);
  void ChooseAlternatives();
  void TrySecondAdoption(const Score& before);
  void VoteForReplacements(Class id);
  void VoteForChildren(Node node);
  void CollectAlternatives(Class adopted);
  void AddAlternative(Class via, const User& user);
  bool MayImprove(Class adopted);
  void RevertUnprofitable();
  // ShouldStop for use within an adoption. Most adoptions are small, so only every 64th call reads
  // the clock.
  bool PollStop() { return ++num_polls_ % 64 == 0 && ShouldStop(); }
  bool ShouldStop() const {
    return selection_.steps() + num_examined_ > most_steps_ || stop_.ShouldStop();
  }

  const Instance& instance_;
  const Users& users_;
  SharedSelection& selection_;
  const Depth depth_;
  const StopCondition& stop_;
  // A power of two. Smaller differences in cost are negligible.
  const double grain_;

  // Limit of selection_.steps() + num_examined_. A function of the graph alone.
  const int64_t most_steps_;
  // Number of classes examined as users of an adopted class.
  int64_t num_examined_ = 0;
  uint32_t num_polls_ = 0;
  int64_t moves_ = 0;
  // The value of moves_ when a whole pass of adoptions last found nothing.
  int64_t moves_at_last_adoptions_ = -1;
  // By Class: the value of moves_ when no switch of it was last found to help; -1 at first.
  std::vector<int64_t> settled_at_;

  std::vector<Candidate> candidates_;  // Scratch of SwitchClass.

  // --- State of one adoption

  // E-nodes to choose, in this order; at most one for each class.
  std::vector<Node> alternatives_;
  // By Class: the last adoption that chose an alternative for it.
  std::vector<uint32_t> chosen_in_;
  uint32_t adoption_ = 0;
  std::vector<Class> reached_;
  std::vector<Node> replaced_;

  // --- State of a second adoption
  struct Vote {
    Class adopted;
    int count;
  };
  std::vector<Vote> votes_;
  // Classes that an adoption left with some of their users, and by Class: the last one that did.
  std::vector<Class> left_;
  std::vector<uint32_t> left_in_;
  std::vector<uint32_t> voted_by_;  // By Class: the last voter that voted for it.
  // By Class: its position in votes_, if it is there.
  std::vector<uint32_t> vote_at_;
  uint32_t num_voters_ = 0;

  // By Class: the last adoption that would keep it in use.
  std::vector<uint32_t> kept_in_;

  // By Class: SharedSelection::Shares at the start of the pass.
  std::vector<double> shares_;
};

}  // namespace quotient::extract
