#include "client/cli/progress_view.h"

#include <algorithm>
#include <string>

#include "tests/client/cli/capture.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::FakeClock;

TEST(ProgressLineTest, SaysWhatIsKnown) {
  EXPECT_EQ(ProgressLine({.phase = "read", .elapsed_seconds = 0.1}), "read        0.1 s");
  EXPECT_EQ(ProgressLine({.phase = "search",
                          .elapsed_seconds = 12.34,
                          .original_cost_us = 200,
                          .best_share = 0.75,
                          .enodes = 77,
                          .detail = "rule x"}),
            "search     12.3 s   77 e-nodes   gain by e-nodes 25.0 %   rule x");
}

TEST(ProgressLineTest, CannotControlTheTerminal) {
  EXPECT_EQ(ProgressLine({.phase = "\x1b[2J", .detail = "\x1b[2J"}).find('\x1b'),
            std::string::npos);
  Capture capture;
  FakeClock clock;
  ProgressView(capture.file(), /*live=*/false, &clock).Note("to FAILED (\x1b[2J)");
  EXPECT_EQ(capture.text(), "to FAILED (?[2J)\n");
}

TEST(ProgressViewTest, OnATerminalOneLineChanges) {
  Capture capture;
  FakeClock clock;
  {
    ProgressView view(capture.file(), /*live=*/true, &clock);
    view.Report({.phase = "a"});
    view.Report({.phase = "a", .detail = std::string(200, 'x')});
    view.Note("note");
  }
  const std::string text = capture.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.substr(0, 10), "\ra        ");
  EXPECT_EQ(text.substr(text.size() - 9), "\r\x1b[Knote\n");
  EXPECT_LT(text.size(), 150u);
}

// One when a phase begins, and one every few seconds.
TEST(ProgressViewTest, ElsewhereLinesAreFew) {
  Capture capture;
  FakeClock clock;
  ProgressView view(capture.file(), /*live=*/false, &clock);
  for (int i = 0; i < 100; ++i) {
    view.Report({.phase = i < 50 ? "search" : "verify"});
    clock.AdvanceMs(150);
  }
  const std::string text = capture.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(ProgressViewTest, TimeGoesByWithoutReportsUntilItIsCleared) {
  Capture capture;
  FakeClock clock;
  ProgressView view(capture.file(), /*live=*/false, &clock);
  view.Tick();
  EXPECT_EQ(capture.text(), "");
  view.Report({.phase = "search", .elapsed_seconds = 3, .enodes = 7});
  clock.AdvanceMs(1'000);
  view.Tick();
  clock.AdvanceMs(4'500);
  view.Tick();
  EXPECT_EQ(capture.text(),
            "search      3.0 s   7 e-nodes\n"
            "search      8.5 s   7 e-nodes\n");
  const size_t so_far = capture.text().size();
  view.Clear();
  clock.AdvanceMs(10'000);
  view.Tick();
  EXPECT_EQ(capture.text().size(), so_far);
}

TEST(HeartbeatTest, EndsWithoutWaitingForTheNextTick) {
  Capture capture;
  ProgressView view(capture.file(), /*live=*/true, &Clock::System());
  view.Report({.phase = "a"});
  for (int i = 0; i < 100; ++i) const Heartbeat heartbeat(&view);
}

}  // namespace
}  // namespace quotient::cli
