#include "server/ops/ticker.h"

#include <gtest/gtest.h>

#include "absl/synchronization/blocking_counter.h"

namespace quotient::ops {
namespace {

TEST(TickerTest, RunsTasksAgainAndAgain) {
  absl::BlockingCounter runs(3);
  int left = 3;
  const Ticker ticker({{absl::Milliseconds(1),
                        [&] {
                          if (left-- > 0) runs.DecrementCount();
                        }},
                       {absl::Hours(1), [] { FAIL() << "before its time"; }}});
  runs.Wait();
}

TEST(TickerTest, ATaskMayComeForTheFirstTimeBeforeItsPeriod) {
  absl::BlockingCounter runs(1);
  const Ticker ticker({{absl::Hours(1), [&] { runs.DecrementCount(); }, absl::Milliseconds(1)}});
  runs.Wait();
}

TEST(TickerTest, EndsAtOnce) {
  const Ticker ticker({{absl::Hours(1), [] {}}});
}

}  // namespace
}  // namespace quotient::ops
