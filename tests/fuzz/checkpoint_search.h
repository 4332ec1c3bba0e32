#pragma once

// The search that checkpoint_fuzz.cc goes on with, and of which make_checkpoints.cc leaves some.

#include <memory>
#include <utility>

#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/digest.h"
#include "core/base/stop.h"
#include "core/search/checkpoint.h"
#include "core/search/mcts.h"
#include "tests/fuzz/check.h"
#include "tests/support/egraph/term_workspace.h"

namespace quotient::testing {

class CheckpointSearch {
 public:
  explicit CheckpointSearch(const StopCondition& stop) {
    auto workspace = TermWorkspace::Make(MathAlgebra(), kRules, "rules", kTerm);
    Check(workspace.ok(), "there is a small search", workspace.status());
    workspace_ = *std::move(workspace);
    task_.limits.max_enodes = 40;
    task_.limits.max_matches_per_rule = 20;
    task_.limits.max_simulations = 200;
    task_.stop = stop;
  }

  Digest identity() { return search::SearchIdentity("mcts", *workspace_, task_); }

  search::Outcome Run(CheckpointSlot* slot) {
    task_.checkpoint = slot;
    auto outcome = search::MctsStrategy().Run(*workspace_, task_);
    Check(outcome.ok(), "a search has an outcome", outcome.status());
    Check(workspace_->graph().num_marks() == 0 && !workspace_->graph().dirty(),
          "a search leaves its graph in order");
    return *std::move(outcome);
  }

 private:
  static constexpr char kRules[] =
      "comm-add: (+ ?a ?b) => (+ ?b ?a)\n"
      "assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n"
      "distribute: (* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))\n"
      "comm-mul: (* ?a ?b) => (* ?b ?a)\n"
      "zero: (+ ?a 0) => ?a\n";
  static constexpr char kTerm[] = "(* (+ a (+ b c)) (+ 0 (* d (+ e (+ f 0)))))";

  search::Task task_{.clock = Clock::System()};
  std::unique_ptr<TermWorkspace> workspace_;
};

}  // namespace quotient::testing
