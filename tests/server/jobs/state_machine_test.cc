#include "server/jobs/state_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace quotient::jobs {
namespace {

constexpr JobState kStates[] = {JobState::kQueued,    JobState::kRunning, JobState::kCancelling,
                                JobState::kSucceeded, JobState::kFailed,  JobState::kCancelled};

// The whole machine as a table; "-" is impossible, "=" means stay.
//                         claim     succeed    fail       cancel      expire     lose       hand
//                         back
const std::map<JobState, std::string> kTable = {
    {JobState::kQueued, "RUNNING   -         -         CANCELLED  FAILED    -         -        "},
    {JobState::kRunning, "-         SUCCEEDED FAILED    CANCELLING -         QUEUED    QUEUED   "},
    {JobState::kCancelling,
     "-         CANCELLED CANCELLED =          -         CANCELLED CANCELLED"},
    {JobState::kSucceeded,
     "-         -         -         =          -         -         -        "},
    {JobState::kFailed, "-         -         -         =          -         -         -        "},
    {JobState::kCancelled,
     "-         -         -         =          -         -         -        "},
};

std::string Text(JobState from, std::optional<JobState> to) {
  if (!to.has_value()) return "-";
  return *to == from ? "=" : std::string(JobStateName(*to));
}

TEST(StateMachineTest, DoesWhatTheTableSays) {
  for (const JobState state : kStates) {
    std::string row = kTable.at(state);
    for (int event = 0; event < 7; ++event) {
      row.erase(0, row.find_first_not_of(' '));
      const std::string expected = row.substr(0, row.find(' '));
      row.erase(0, expected.size());
      EXPECT_EQ(Text(state, NextState(state, static_cast<JobEvent>(event), true)), expected)
          << JobStateName(state) << " event " << event;
    }
  }
}

TEST(StateMachineTest, AJobLostOnItsLastAttemptFails) {
  EXPECT_EQ(NextState(JobState::kRunning, JobEvent::kLose, false), JobState::kFailed);
  EXPECT_EQ(NextState(JobState::kCancelling, JobEvent::kLose, false), JobState::kCancelled);
}

TEST(StateMachineTest, TerminalStatesAreLeftByNoEvent) {
  for (const JobState state : kStates) {
    if (!IsTerminal(state)) continue;
    for (int event = 0; event < 7; ++event) {
      const auto next = NextState(state, static_cast<JobEvent>(event), true);
      EXPECT_EQ(next.value_or(state), state);
    }
  }
}

TEST(StateMachineTest, NamesRoundTrip) {
  for (const JobState state : kStates) {
    EXPECT_EQ(JobStateFromName(JobStateName(state)), state);
  }
  EXPECT_EQ(JobStateFromName("DREAMING"), std::nullopt);
}

}  // namespace
}  // namespace quotient::jobs
