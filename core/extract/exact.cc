#include "core/extract/exact.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/status_macros.h"
#include "core/extract/blocks.h"
#include "core/extract/bottom_up.h"
#include "core/extract/branch_and_cut.h"
#include "core/extract/choice.h"
#include "core/extract/dual_ascent.h"
#include "core/extract/improve.h"
#include "core/extract/instance.h"
#include "core/extract/lower_bound.h"
#include "core/extract/shared_selection.h"
#include "core/extract/to_selection.h"
#include "core/extract/treewidth.h"

namespace quotient::extract {
namespace {

// Costs that differ by less than this, relatively, count as equal.
constexpr double kTolerance = 1e-9;
// A round that leaves more than this share of the e-nodes is the last one.
constexpr double kWorthAnotherRound = 0.8;

// Whether dynamic programming and branch and cut are tried where reduction does not close the gap.
enum class Effort { kReduce, kBranch };

struct Answer {
  // If it computes something twice, its cost is set above that of any selection.
  Choice best;
  double bound = 0;  // A lower bound on the cost of any selection.

  // The cost that a selection must stay below to be cheaper.
  double limit() const { return best.cost * (1 - kTolerance); }
  bool proven() const { return best.num_recomputed == 0 && bound >= limit(); }
  void Prove() { bound = best.cost; }
  // Offers a choice for a part of the instance.
  void Offer(const Choice& choice, const Instance& part, const Instance& instance) {
    if (!IsAsGood(choice, best)) return;
    WriteChoice(part, choice.nodes, instance, best.nodes);
    best.cost = choice.cost;
    best.num_recomputed = 0;
  }
  // Raises the bound. `value` may be a bound for a part only: selections outside of the part are no
  // cheaper than the best.
  void RaiseBound(double value) {
    bound = std::max(bound, value);
    if (proven()) Prove();
  }
};

Answer Solve(Form form, const Instance& instance, Choice known, Effort effort,
             const StopCondition& stop);

// Solves an instance that is one block. Keeps the best selection so far, and the part of the
// instance that may contain a cheaper one.
class Reduction {
 public:
  Reduction(const Instance& instance, Instance part, Choice known, const StopCondition& stop)
      : instance_(instance), rest_(std::move(part)), stop_(stop) {
    answer_.best = std::move(known);
    Offer(Improve(rest_, Known(), stop));
    answer_.RaiseBound(LowerBound(rest_));
  }

  Answer Run(Effort effort) {
    while (!answer_.proven() && Reduce()) {
    }
    if (answer_.proven() || stop_.ShouldStop()) return std::move(answer_);
    Choice known = ChooseTree(rest_);
    const Form form = FormOfRest(Form::kBlock, instance_, rest_);
    if (form == Form::kAny && known.num_recomputed == 0 && Blocks(rest_).size() > 1) {
      const Answer answer = Solve(form, rest_, std::move(known), effort, stop_);
      Offer(answer.best);
      answer_.RaiseBound(answer.bound);
    } else if (effort == Effort::kBranch && !SolveIfNarrow()) {
      BranchAndCutRest();
    }
    return std::move(answer_);
  }

 private:
  // The best selection, restricted to the part.
  Choice Known() const {
    std::vector<Node> tree = MinimizeTreeCost(rest_).choice;
    return Scored(rest_, ReadNeeded(rest_, instance_, answer_.best.nodes, std::move(tree)));
  }

  void Offer(const Choice& choice) { answer_.Offer(choice, rest_, instance_); }

  // Removes e-nodes by one round of dual ascent. True if another round may be worth it.
  bool Reduce() {
    const DualBound dual = AscendDual(rest_, rest_.cost, stop_);
    answer_.RaiseBound(dual.bound);
    if (answer_.proven()) return false;
    const size_t before = rest_.num_nodes();
    const std::vector<bool> keep = CanBeCheaper(rest_, dual, answer_.limit());
    absl::StatusOr<Instance> rest = Restrict(rest_, keep);
    if (!rest.ok()) {
      answer_.Prove();
      return false;
    }
    for (Node& origin : rest->origin) origin = rest_.origin[origin.value()];
    rest_ = *std::move(rest);
    const bool goes_on =
        static_cast<double>(rest_.num_nodes()) < kWorthAnotherRound * static_cast<double>(before);
    if (goes_on) Offer(Improve(rest_, ChooseTree(rest_), stop_));
    return goes_on && !stop_.ShouldStop();
  }

  // Solves the rest by dynamic programming. False if it is not narrow or too hard. It uses half of
  // the time left, so that branch and cut has the other half.
  bool SolveIfNarrow() {
    const TreewidthResult result =
        MinimizeByTreewidth(rest_, answer_.limit(), TreewidthLimits(), stop_.Share(2));
    if (!result.complete) return false;
    if (result.choice.has_value()) Offer(Scored(rest_, *result.choice));
    answer_.Prove();
    return true;
  }

  void BranchAndCutRest() {
    const BranchAndCutResult result = BranchAndCut(rest_, answer_.limit(), stop_);
    if (result.choice.has_value()) Offer(Scored(rest_, *result.choice));
    answer_.RaiseBound(result.lower_bound);
  }

  const Instance& instance_;
  Instance rest_;  // A part of instance_.
  const StopCondition& stop_;
  Answer answer_;
};

// Sets the cost of stand-ins for other blocks to 0 if every selection needs them, and returns the
// sum of these costs. In a long chain of blocks they would be most of the cost, and a proof to a
// relative tolerance would say little about the rest. Applied only to the dearest stand-ins, of
// which there are few.
double ZeroForcedCosts(Instance& block, std::span<const Node> known) {
  constexpr double kLeastShare = 1.0 / 16;
  const SharedSelection selection(block, {}, {known.begin(), known.end()});
  double freed = 0;
  std::vector<bool> keep(block.num_nodes(), true);
  for (uint32_t i = 0; i < block.num_nodes(); ++i) {
    if (block.origin[i].valid() || !selection.live(block.class_of[i])) continue;
    if (block.cost[i] < selection.cost() * kLeastShare) continue;
    keep[i] = false;
    if (!Restrict(block, keep).ok()) freed += std::exchange(block.cost[i], 0);
    keep[i] = true;
  }
  return freed;
}

// Solves blocks from the bottom up, first without branching, so that blocks that close fast do not
// wait for others.
class BlockSolver {
 public:
  BlockSolver(const Instance& whole, Blocks& blocks, std::vector<Node> known,
              const StopCondition& stop)
      : whole_(whole), blocks_(blocks), known_(std::move(known)), stop_(stop) {}

  Answer Run(Effort effort) {
    solved_.resize(blocks_.size());
    cost_.resize(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) SolveBlock(i, Effort::kReduce, stop_);
    while (effort == Effort::kBranch && Branch()) {
    }
    return {Scored(whole_, std::move(known_)), Bound()};
  }

 private:
  struct Solved {
    // Lower bound, given the known costs of the blocks below.
    double bound = 0;
    double below_cost = 0;  // Sum of the known costs of the blocks below.
    bool open = true;       // More time may raise the bound.
  };

  // Gives each open block the same share of the time left. True if that was too little for some
  // block while others left time over.
  bool Branch() {
    int64_t num_open = std::ranges::count_if(solved_, &Solved::open);
    bool cut_short = false;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (!solved_[i].open && BelowCost(i) == solved_[i].below_cost) continue;
      const StopCondition share = stop_.Share(std::max<int64_t>(num_open, 1));
      if (solved_[i].open) --num_open;
      SolveBlock(i, Effort::kBranch, share);
      // A block that ended before its share did cannot be improved.
      solved_[i].open &= share.ShouldStop();
      cut_short |= solved_[i].open;
    }
    return cut_short && !stop_.ShouldStop();
  }

  void SolveBlock(size_t i, Effort effort, const StopCondition& stop) {
    Instance block = blocks_.Make(i, cost_);
    const std::vector<Node> known = ReadChoice(block, whole_, known_);
    const double needed = ZeroForcedCosts(block, known);
    Answer answer = Solve(Form::kBlock, block, Scored(block, known), effort, stop);
    WriteChoice(block, answer.best.nodes, whole_, known_);
    cost_[i] = answer.best.cost + needed;
    Solved& solved = solved_[i];
    // The earlier bound, less what the blocks below have become cheaper by.
    const double before = solved.bound - (solved.below_cost - BelowCost(i));
    solved = {std::max(before, std::min(answer.bound, answer.best.cost) + needed), BelowCost(i),
              !answer.proven()};
  }

  double BelowCost(size_t i) const {
    double sum = 0;
    for (const uint32_t below : blocks_.below(i)) sum += cost_[below];
    return sum;
  }

  // The bound for the whole. A block's bound assumes the known costs of the blocks below it, so it
  // is reduced by what these may cost less.
  double Bound() const {
    std::vector<double> bound(blocks_.size());
    for (size_t i = 0; i < bound.size(); ++i) {
      bound[i] = std::min(solved_[i].bound, cost_[i]);
      for (const uint32_t below : blocks_.below(i)) bound[i] -= cost_[below] - bound[below];
    }
    return std::max(bound.back(), 0.0);
  }

  const Instance& whole_;
  Blocks& blocks_;
  std::vector<Node> known_;  // The best of all blocks so far.
  const StopCondition& stop_;
  std::vector<Solved> solved_;  // By block.
  // By block: the cost of its stand-in in the block above.
  std::vector<double> cost_;
};

// More than any selection costs.
double Ceiling(const Instance& instance) {
  double sum = 1;
  for (const double cost : instance.cost) sum += cost;
  return sum;
}

Answer Solve(Form form, const Instance& instance, Choice known, Effort effort,
             const StopCondition& stop) {
  if (known.num_recomputed > 0) known.cost = Ceiling(instance);
  Answer answer = {std::move(known)};
  if (instance.num_nodes() == instance.num_classes()) answer.Prove();  // It is the only selection.
  if (answer.proven() || stop.ShouldStop()) return answer;
  Instance part = RestrictToCost(instance, answer.best.cost);
  std::optional<Blocks> blocks;
  if (FormOfRest(form, instance, part) == Form::kAny) blocks.emplace(part);
  if (!blocks.has_value() || blocks->size() == 1) {
    blocks.reset();  // It borrows the part.
    return Reduction(instance, std::move(part), std::move(answer.best), stop).Run(effort);
  }
  std::vector<Node> nodes =
      ReadNeeded(part, instance, answer.best.nodes, MinimizeTreeCost(part).choice);
  const Answer found = BlockSolver(part, *blocks, std::move(nodes), stop).Run(effort);
  answer.Offer(found.best, part, instance);
  answer.RaiseBound(found.bound);
  return answer;
}

}  // namespace

absl::StatusOr<Selection> ExactExtractor::Choose(const Problem& problem,
                                                 const StopCondition& stop) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(problem));
  const Answer answer = Solve(Form::kAny, instance, ChooseTree(instance), Effort::kBranch, stop);
  Selection selection = ToSelection(problem, instance, answer.best.nodes);
  const double bound = std::max(answer.bound, LowerBound(instance));
  selection.lower_bound = std::min(bound, selection.cost);
  return selection;
}

}  // namespace quotient::extract
