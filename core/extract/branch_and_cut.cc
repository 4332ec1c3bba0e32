#include "core/extract/branch_and_cut.h"

#include <CbcEventHandler.hpp>
#include <CbcModel.hpp>
#include <CglCutGenerator.hpp>
#include <CglGomory.hpp>
#include <CglProbing.hpp>
#include <CglZeroHalf.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "core/base/monotonic_mutex.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/flow_separator.h"
#include "core/extract/ilp_model.h"
#include "core/extract/local_search.h"
#include "core/extract/loop_separator.h"
#include "core/extract/relaxation.h"
#include "core/extract/requirements.h"
#include "core/extract/shared_selection.h"
#include "core/extract/use_separator.h"
#include "core/extract/users.h"

namespace quotient::extract {
namespace {

// Costs are scaled so that the cutoff lies between this and its double, since the solver's
// tolerances are absolute.
constexpr double kScaledCutoff = 1024;
// Relative error that the solver's bounds may have.
constexpr double kBoundTolerance = 1e-7;
// Solutions must be cheaper by this relative difference.
constexpr double kCutoffTolerance = 1e-9;
// Rounds of cuts at the root end when this many together have gained less than this share of the
// gap.
constexpr size_t kStallRounds = 10;
constexpr double kMinGain = 1e-3;

// Held while using CBC, whose globals allow one user at a time.
class SolverLock {
 public:
  // Waits for the lock. Does not own it if `stop` fires first.
  explicit SolverLock(const StopCondition& stop) {
    const MonotonicMutexLock lock(&mutex_);
    const auto is_free = []() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return free_; };
    while (!owned_ && !stop.ShouldStop()) owned_ = mutex_.AwaitFor(is_free, absl::Milliseconds(50));
    if (owned_) free_ = false;
  }
  SolverLock(const SolverLock&) = delete;
  ~SolverLock() {
    const MonotonicMutexLock lock(&mutex_);
    if (owned_) free_ = true;
  }
  bool owned() const { return owned_; }

 private:
  static inline MonotonicMutex mutex_;
  static inline bool free_ ABSL_GUARDED_BY(mutex_) = true;
  bool owned_ = false;
};

class Search {
 public:
  Search(const Instance& instance, double cutoff, const StopCondition& stop)
      : instance_(instance),
        stop_(stop),
        requirements_(Requirements::Compute(instance, stop)),
        model_(instance, FindForced(instance, requirements_)),
        loops_(instance),
        flows_(instance),
        scale_(std::exp2(std::ceil(std::log2(kScaledCutoff / cutoff)))),
        relaxation_(model_, scale_, stop),
        components_(StrongComponents(instance)),
        users_(FindUsers(instance)),
        guided_(instance),
        cutoff_(cutoff) {
    if (requirements_.has_value()) uses_.emplace(instance, *requirements_);
  }

  BranchAndCutResult Run() {
    if (!model_.feasible()) {
      RaiseBound(ScaledCutoff());
    } else if (model_.objective().empty()) {  // There is only one selection.
      Round(nullptr);
      RaiseBound(0);
    } else if (SolveRoot()) {
      while (Branch()) {
      }
    }
    return {std::move(best_), cutoff_, bound_};
  }

  // Rows that a solution of the relaxation violates.
  std::vector<IlpModel::Row> Separate(const double* solution) {
    const std::vector<double> node_value = model_.NodeValues(Columns(solution));
    const std::vector<double> class_value = model_.ClassValues(Columns(solution));
    std::vector<IlpModel::Row> rows;
    const auto add = [&](const auto& inequalities) {
      for (const auto& inequality : inequalities) rows.push_back(model_.ToRow(inequality));
    };
    if (uses_.has_value()) add(uses_->Separate(node_value, class_value));
    add(loops_.Separate(node_value, class_value, stop_));
    add(flows_.Separate(node_value, class_value, stop_));
    return rows;
  }

  // Rounds a solution of the relaxation, integral or not, to a choice. Takes the choice of least
  // tree cost where what the solution takes is free, and improves it by local search. The result
  // costs no more than the solution if that is integral and acyclic.
  void Round(const double* solution) {
    const std::vector<double> node_value = model_.NodeValues(Columns(solution));
    for (size_t i = 0; i < node_value.size(); ++i) {
      constexpr double kNotTaken = 1e-3;  // In units of the cutoff.
      const double not_taken = std::clamp(1 - node_value[i], 0.0, 1.0);
      guided_.cost[i] = (instance_.cost[i] + kNotTaken * cutoff_) * not_taken;
    }
    SharedSelection selection(instance_, components_, MinimizeTreeCost(guided_).choice);
    LocalSearch(instance_, users_, selection, LocalSearch::Depth::kOne, stop_).Run();
    if (selection.score().num_recomputed > 0) return;
    if (selection.cost() >= cutoff_ * (1 - kCutoffTolerance)) return;
    cutoff_ = selection.cost();
    best_ = selection.choices();
  }

  // Raises the bound to a lower bound of the scaled problem.
  void RaiseBound(double scaled) {
    const double bound = std::min(scaled / scale_ + model_.constant(), cutoff_);
    bound_ = std::max(bound_, bound * (1 - kBoundTolerance));
  }
  // The scaled cost that the solver must stay below.
  double ScaledCutoff() const {
    return (cutoff_ * (1 - kCutoffTolerance) - model_.constant()) * scale_;
  }
  bool stopped() const { return stop_.ShouldStop(); }

 private:
  std::span<const double> Columns(const double* solution) const {
    return {solution, model_.objective().size()};
  }

  // Solves the relaxation at the root with cuts. True if something is left to branch on.
  bool SolveRoot() {
    OsiClpSolverInterface& solver = relaxation_.solver();
    std::vector<double> history;
    for (solver.initialSolve(); Evaluate(); solver.resolve()) {
      Round(solver.getColSolution());
      // Evaluate then compares it with the new cutoff.
      if (solver.getObjValue() >= ScaledCutoff()) continue;
      history.push_back(solver.getObjValue());
      if (Stalls(history)) return true;
      relaxation_.FixByReducedCost(ScaledCutoff());
      const std::vector<IlpModel::Row> cuts = Separate(solver.getColSolution());
      if (cuts.empty()) return true;
      relaxation_.DropSlackCuts();
      relaxation_.AddRows(cuts);
    }
    return false;
  }

  // Evaluates a solved relaxation. True if it leaves room below the cutoff.
  bool Evaluate() {
    const OsiClpSolverInterface& solver = relaxation_.solver();
    if (stopped()) return false;  // The solver was interrupted.
    if (solver.isProvenPrimalInfeasible()) {
      RaiseBound(ScaledCutoff());
      return false;
    }
    if (!solver.isProvenOptimal()) return false;
    RaiseBound(solver.getObjValue());
    return solver.getObjValue() < ScaledCutoff();
  }

  bool Stalls(const std::vector<double>& history) const {
    if (history.size() <= kStallRounds) return false;
    const double gain = history.back() - history[history.size() - 1 - kStallRounds];
    return gain < kMinGain * (ScaledCutoff() - history.back());
  }

  bool Branch();

  const Instance& instance_;
  const StopCondition& stop_;
  const std::optional<Requirements> requirements_;
  const IlpModel model_;
  std::optional<UseSeparator> uses_;
  LoopSeparator loops_;
  FlowSeparator flows_;
  const double scale_;
  Relaxation relaxation_;
  const std::vector<uint32_t> components_;
  const Users users_;
  Instance guided_;  // The instance with the costs that Round uses.
  double cutoff_;    // The cost of best_, if there is one.
  std::optional<std::vector<Node>> best_;
  double bound_ = 0;
};

// --- The search's hooks in CBC

class Separation : public CglCutGenerator {
 public:
  explicit Separation(Search& search) : search_(&search) {}
  void generateCuts(const OsiSolverInterface& solver, OsiCuts& cuts,
                    const CglTreeInfo /*info*/) override {
    if (search_->stopped()) return;
    for (const IlpModel::Row& row : search_->Separate(solver.getColSolution())) {
      OsiRowCut cut;
      cut.setRow(static_cast<int>(row.columns.size()), row.columns.data(), row.coefficients.data());
      cut.setLb(row.lower);
      cut.setUb(solver.getInfinity());
      cut.setGloballyValid(true);
      cuts.insert(cut);
    }
  }
  CglCutGenerator* clone() const override { return new Separation(*this); }

 private:
  Search* search_;
};

class Events : public CbcEventHandler {
 public:
  explicit Events(Search& search) : search_(&search) {}
  CbcAction event(CbcEvent which) override {
    if (search_->stopped()) return stop;
    if (which == solution || which == heuristicSolution) search_->Round(model_->bestSolution());
    // At the cutoff or above, the value means nothing: CBC uses such values for "not known yet".
    const double bound = model_->getBestPossibleObjValue();
    if (which == node && bound < search_->ScaledCutoff()) search_->RaiseBound(bound);
    return noAction;
  }
  CbcEventHandler* clone() const override { return new Events(*this); }

 private:
  Search* search_;
};

// Runs CBC once, without its preprocessing and heuristics, which ignore limits. True if another run
// is needed: the solution has cycles, since CBC does not guarantee to separate its final solution,
// and cuts against them have been added to the relaxation. The bound is valid in any case.
bool Search::Branch() {
  CbcModel cbc(relaxation_.solver());
  cbc.passInMessageHandler(&relaxation_.silent());
  cbc.setLogLevel(0);
  cbc.setCutoff(ScaledCutoff());
  Separation separation(*this);
  cbc.addCutGenerator(&separation, 1, "separation", /*normal=*/true, /*atSolution=*/true);
  constexpr int kAtRootOnly = -99;
  CglProbing probing;
  probing.setMaxProbe(50);
  cbc.addCutGenerator(&probing, kAtRootOnly, "probing");
  CglGomory gomory;
  cbc.addCutGenerator(&gomory, kAtRootOnly, "gomory");
  CglZeroHalf zero_half;
  cbc.addCutGenerator(&zero_half, kAtRootOnly, "zero-half");
  Events events(*this);
  cbc.passInEventHandler(&events);
  cbc.branchAndBound();
  if (stopped() || cbc.status() != 0) return false;
  if (cbc.bestSolution() == nullptr) {
    RaiseBound(ScaledCutoff());
    return false;
  }
  Round(cbc.bestSolution());
  RaiseBound(cbc.getObjValue());
  const std::vector<IlpModel::Row> cuts = Separate(cbc.bestSolution());
  relaxation_.AddRows(cuts);
  return !cuts.empty();
}

}  // namespace

BranchAndCutResult BranchAndCut(const Instance& instance, double cutoff,
                                const StopCondition& stop) {
  const SolverLock lock(stop);
  if (!lock.owned()) return {};
  return Search(instance, cutoff, stop).Run();
}

}  // namespace quotient::extract
