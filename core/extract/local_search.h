#pragma once

// Hill climbing on the score of a SharedSelection. Scores are compared exactly, with costs rounded
// down to multiples of what is no difference, which is a strict order: whatever is taken for better
// is nearer to the end.
//
// Moves: switch(c): another e-node for one live class. adopt(X): every live class that has an
// alternative e-node with child X switches to it at once; those that do not pay switch back; kept
// if the total fell. That is what merged operators need: one class alone gains nothing by taking
// the merged one, all together do. Alternatives that reach X through e-nodes of no cost (a split
// or reshape in between) count, too. Most adoptions are ruled out beforehand: what the classes
// could free together, at most, is compared with what X costs. At depth two an adoption that does
// not pay is followed by another one, for the classes that still use what it took users from.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"
#include "core/extract/shared_selection.h"

namespace quotient::extract {

class LocalSearch {
 public:
  // Adoptions in a row, where the first alone does not pay.
  enum class Depth { kOne, kTwo };

  // Borrows all.
  LocalSearch(const Instance& instance, SharedSelection& selection, Depth depth,
              const StopCondition& stop);

  // Climbs until neither move helps, `stop` says so, or the steps that a graph of this size is
  // worth are spent: what a move takes away may be all that is below it, and there are as many
  // moves as e-nodes.
  void Run();

 private:
  enum class Sideways { kRefuse, kTake };
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
  void TakeAlternatives();
  void AdoptForTheRest(const Score& before);
  void VoteInsteadOf(Class id);
  void VoteForWhatItUses(Node node);
  void CollectAlternatives(Class adopted);
  void AddAlternative(Class id, std::span<const Node> nodes);
  bool MayPay(Class adopted);
  void DropWhatDoesNotPay();
  // Within one adoption, of which most are small: reading the clock each time is dear.
  bool AskNowAndThen() { return ++asked_ % 64 == 0 && ShouldStop(); }
  bool ShouldStop() const {
    return selection_.steps() + looked_at_ > most_steps_ || stop_.ShouldStop();
  }

  const Instance& instance_;
  SharedSelection& selection_;
  const Depth depth_;
  const StopCondition& stop_;
  const double grain_;  // a power of two; costs that differ by less are as good as equal

  const int64_t most_steps_;  // of the selection and of our own, the same for the same graph
  int64_t looked_at_ = 0;     // e-nodes that could be alternatives
  uint32_t asked_ = 0;
  int64_t moves_ = 0;
  int64_t moves_at_last_adoptions_ = -1;  // when a whole pass of them found nothing

  std::vector<Candidate> candidates_;  // of one SwitchClass

  // Of one adoption: e-nodes to choose, in this order; at most one for each class.
  std::vector<Node> alternatives_;
  std::vector<uint32_t> taken_in_;  // by Class: the adoption that last chose for it
  uint32_t adoption_ = 0;
  std::vector<Class> reached_;
  std::vector<Node> replaced_;

  // Of a second adoption.
  struct Vote {
    Class adopted;
    int count;
  };
  std::vector<Vote> votes_;
  std::vector<uint32_t> left_in_;   // by Class: the adoption that last left it with other users
  std::vector<uint32_t> voted_by_;  // by Class: the last that voted for it
  std::vector<uint32_t> vote_at_;   // by Class: where in votes_, if there
  uint32_t num_voters_ = 0;

  std::vector<uint32_t> kept_in_;  // by Class: the adoption that last would keep it live

  std::vector<double> shares_;  // by Class, when the pass began; see SharedSelection
};

}  // namespace quotient::extract
