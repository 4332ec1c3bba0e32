#include "client/cli/watch_view.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/client/cli/capture.h"
#include "tests/server/support/fake_clock.h"

namespace quotient::cli {
namespace {

class WatchViewTest : public ::testing::Test {
 protected:
  void Snapshot(v1::JobState state, int64_t sequence) {
    v1::WatchJobResponse event;
    event.mutable_snapshot()->set_state(state);
    event.mutable_snapshot()->set_sequence(sequence);
    watch_.Show(event);
  }
  void Transition(v1::JobState to, int64_t sequence, const std::string& reason) {
    v1::WatchJobResponse event;
    event.mutable_transition()->set_to(to);
    event.mutable_transition()->set_sequence(sequence);
    event.mutable_transition()->set_reason(reason);
    watch_.Show(event);
  }

  Capture capture_;
  testing::FakeClock clock_;
  ProgressView view_{capture_.file(), /*live=*/false, &clock_};
  WatchView watch_{&view_};
};

TEST_F(WatchViewTest, AllChangesAreShownAndWhatTheyCameFrom) {
  Snapshot(v1::JOB_STATE_QUEUED, 1);
  Transition(v1::JOB_STATE_QUEUED, 1, "submitted");
  Transition(v1::JOB_STATE_RUNNING, 2, "claimed");
  Transition(v1::JOB_STATE_SUCCEEDED, 3, "done");
  Snapshot(v1::JOB_STATE_SUCCEEDED, 3);
  EXPECT_EQ(capture_.text(), "QUEUED (submitted)\nRUNNING (claimed)\nSUCCEEDED (done)\n");
}

// The snapshot is newer than the changes that follow it.
TEST_F(WatchViewTest, WhatWasMissedIsShownInItsOrderAndOnce) {
  Snapshot(v1::JOB_STATE_RUNNING, 2);
  Transition(v1::JOB_STATE_RUNNING, 2, "claimed");
  Snapshot(v1::JOB_STATE_SUCCEEDED, 5);
  Transition(v1::JOB_STATE_QUEUED, 3, "handed back");
  Snapshot(v1::JOB_STATE_SUCCEEDED, 5);  // The stream was lost once more.
  Transition(v1::JOB_STATE_QUEUED, 3, "handed back");
  Transition(v1::JOB_STATE_RUNNING, 4, "claimed");
  Transition(v1::JOB_STATE_SUCCEEDED, 5, "done");
  Snapshot(v1::JOB_STATE_SUCCEEDED, 5);
  EXPECT_EQ(capture_.text(),
            "RUNNING (claimed)\nQUEUED (handed back)\nRUNNING (claimed)\nSUCCEEDED (done)\n");
}

TEST_F(WatchViewTest, ProgressIsShown) {
  v1::WatchJobResponse event;
  event.mutable_progress()->set_phase("search");
  event.mutable_progress()->mutable_elapsed()->set_nanos(500'000'000);
  watch_.Show(event);
  EXPECT_EQ(capture_.text(), "search      0.5 s\n");
}

}  // namespace
}  // namespace quotient::cli
