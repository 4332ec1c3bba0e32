// Any bytes in a whole envelope are what a search can go on from, or they are refused; one that
// goes on comes to its end.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "core/search/checkpoint.h"
#include "core/search/mcts.h"
#include "tests/fuzz/understood.h"
#include "tests/support/countdown_clock.h"
#include "tests/support/egraph/term_workspace.h"
#include "tests/support/memory_checkpoint.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose

constexpr char kRules[] =
    "comm-add: (+ ?a ?b) => (+ ?b ?a)\n"
    "assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n"
    "distribute: (* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))\n"
    "comm-mul: (* ?a ?b) => (* ?b ?a)\n"
    "zero: (+ ?a 0) => ?a\n";
constexpr char kTerm[] = "(* (+ a (+ b c)) (+ 0 (* d (+ e (+ f 0)))))";
// Looks at the clock until time is up: whatever the bytes say, a search ends.
constexpr int64_t kLooks = 800;

void Check(bool condition, const absl::Status& status = absl::OkStatus()) {
  if (condition) return;
  std::cerr << status << "\n";
  std::abort();
}

search::Task SmallTask() {
  search::Task task{.clock = quotient::Clock::System()};
  task.limits.max_enodes = 40;
  task.limits.max_matches_per_rule = 20;
  task.limits.max_simulations = 200;
  return task;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view content(reinterpret_cast<const char*>(data), size);
  const auto workspace =
      testing::TermWorkspace::Make(testing::MathAlgebra(), kRules, "rules", kTerm);
  Check(workspace.ok(), workspace.status());
  search::Task task = SmallTask();
  const Digest identity = search::SearchIdentity("mcts", **workspace, task);
  testing::MemoryCheckpoint checkpoint(search::SealCheckpoint(identity, content));
  const testing::CountdownClock clock(kLooks);
  task.stop = clock.Stop();
  task.checkpoint = &checkpoint;
  const auto outcome = search::MctsStrategy().Run(**workspace, task);
  Check(outcome.ok(), outcome.status());
  Check((outcome->resumed.times > 0) == outcome->checkpoint_refused.empty());
  if (outcome->checkpoint_refused.empty()) testing::NoteUnderstood();
  Check((*workspace)->graph().num_marks() == 0 && !(*workspace)->graph().dirty());
  return 0;
}
