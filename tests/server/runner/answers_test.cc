#include "server/runner/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "core/base/blob_id.h"
#include "core/base/reason.h"
#include "proto/wire/digest.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/convert.h"
#include "tests/support/status_matchers.h"

namespace quotient::runner {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The end of a run with a result.
v1::Ended Finished() {
  v1::Ended ended;
  *ended.mutable_result() =
      jobs::ToProto(jobs::JobResult{.model = BlobId::Of("model"), .engine_version = "1"});
  return ended;
}

TEST(AnswersTest, ProgressThatCanBeIsTakenAsItIs) {
  const Progress said{.phase = "search",
                      .elapsed_seconds = 1.5,
                      .fraction = 0.25,
                      .original_cost_us = 12,
                      .best_share = 0.5,
                      .enodes = 7,
                      .detail = "so far"};
  const Progress taken = ProgressOf(wire::ToProto(said));
  EXPECT_EQ(taken.phase, said.phase);
  EXPECT_EQ(taken.elapsed_seconds, said.elapsed_seconds);
  EXPECT_EQ(taken.fraction, said.fraction);
  EXPECT_EQ(taken.original_cost_us, said.original_cost_us);
  EXPECT_EQ(taken.best_share, said.best_share);
  EXPECT_EQ(taken.enodes, said.enodes);
  EXPECT_EQ(taken.detail, said.detail);
}

TEST(AnswersTest, ProgressThatCannotBeIsCut) {
  quotient::v1::Progress message;
  message.set_phase(std::string(5'000, 'p'));
  message.mutable_elapsed()->set_seconds(INT64_MAX);
  message.set_fraction(kNaN);
  message.set_original_cost_us(kInfinity);
  message.set_best_share(-1);
  message.set_enodes(-1);
  const Progress taken = ProgressOf(message);
  EXPECT_THAT(taken.phase, SizeIs(kMostProgressText));
  EXPECT_EQ(taken.fraction, 0);
  EXPECT_EQ(taken.original_cost_us, 0);
  EXPECT_EQ(taken.best_share, 0);
  EXPECT_EQ(taken.enodes, 0);
  // It can be sent to clients, which protobuf refuses for times that it does not allow.
  EXPECT_EQ(wire::ToProto(taken).elapsed().seconds(), 315'576'000'000);
}

TEST(AnswersTest, ACutLeavesNoHalfOfACharacter) {
  quotient::v1::Progress message;
  std::string text(1, 'a');
  while (text.size() <= kMostProgressText) text += "\xc3\xa4";
  message.set_detail(text);
  const std::string cut = ProgressOf(message).detail;
  EXPECT_EQ(cut, wire::Utf8(cut));
}

TEST(AnswersTest, AFailureKeepsItsReasonAndABoundedMessage) {
  v1::Ended ended;
  EXPECT_OK(FailureOf(ended));
  *ended.mutable_status() =
      wire::ToProto(MakeError(Reason::kModelCyclic, std::string(1 << 20, 'x')));
  const absl::Status failure = FailureOf(ended);
  EXPECT_THAT(failure, HasReason(Reason::kModelCyclic));
  EXPECT_EQ(failure.message().size(), kMostErrorBytes);
}

// The server would end as often as a process says so.
TEST(AnswersTest, AProcessDoesNotSayThatTheServerWasReplaced) {
  v1::Ended ended;
  *ended.mutable_status() = wire::ToProto(MakeError(Reason::kProgramReplaced, "so I say"));
  EXPECT_THAT(FailureOf(ended), HasReason(Reason::kPoisoned));
}

TEST(AnswersTest, AResultThatIsNoneIsTheFaultOfTheProcess) {
  EXPECT_OK(ResultOf(Finished()));
  EXPECT_THAT(ResultOf({}), HasReason(Reason::kPoisoned));
  v1::Ended long_texts = Finished();
  long_texts.mutable_result()->set_engine_version(std::string(kMostResultBytes, 'e'));
  EXPECT_THAT(ResultOf(long_texts), HasReason(Reason::kPoisoned, HasSubstr("too large")));
  for (const char* const name : {"", ".", "..", "/etc/passwd", "../data"}) {
    v1::Ended climbing = Finished();
    *climbing.mutable_result()->mutable_external_data() = wire::ToProto(BlobId::Of("data"));
    climbing.mutable_result()->set_external_location(name);
    EXPECT_THAT(ResultOf(climbing), HasReason(Reason::kPoisoned, HasSubstr("file name"))) << name;
  }
}

TEST(AnswersTest, FiguresCanBeCounted) {
  v1::Ended ended;
  ended.mutable_figures()->set_simulations(12);
  ended.mutable_figures()->set_enodes(-1);
  ended.mutable_figures()->set_kernels_known(INT64_MIN);
  ended.mutable_figures()->set_lane_wait_seconds(kInfinity);
  ended.mutable_figures()->set_gain_ratio(0);
  const v1::Figures figures = FiguresOf(ended);
  EXPECT_EQ(figures.simulations(), 12);
  EXPECT_EQ(figures.enodes(), 0);
  EXPECT_EQ(figures.kernels_known(), 0);
  EXPECT_EQ(figures.lane_wait_seconds(), 0);
  EXPECT_FALSE(figures.has_gain_ratio());
  ended.mutable_figures()->set_gain_ratio(0.5);
  EXPECT_EQ(FiguresOf(ended).gain_ratio(), 0.5);
}

TEST(AnswersTest, AnAnswerThatClientsDoNotAcceptIsNotSent) {
  v1::Ended ended;
  ended.set_summary_json(std::string(kMostAnswerBytes - 100, ' '));
  EXPECT_OK(CheckSize(ended));
  ended.set_summary_json(std::string(kMostAnswerBytes, ' '));
  EXPECT_THAT(CheckSize(ended), HasReason(Reason::kLimitBytes));
}

TEST(AnswersTest, AReplayNamesAModel) {
  v1::Ended ended;
  EXPECT_THAT(ReplayOf(ended), HasReason(Reason::kPoisoned));
  *ended.mutable_replay()->mutable_model() = wire::ToProto(BlobId::Of("model"));
  ended.mutable_replay()->set_rewrites(-3);
  ASSERT_OK_AND_ASSIGN(const worker::Replay replay, ReplayOf(ended));
  EXPECT_EQ(replay.model, BlobId::Of("model"));
  EXPECT_EQ(replay.rewrites, 0);
}

}  // namespace
}  // namespace quotient::runner
