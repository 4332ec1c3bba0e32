#include "proto/wire/time.h"

#include <gtest/gtest.h>

#include "google/protobuf/util/time_util.h"

namespace quotient::wire {
namespace {

int64_t OfDuration(int64_t seconds, int32_t nanos) {
  google::protobuf::Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return Milliseconds(duration);
}

TEST(TimeTest, DurationsAreRoundedUp) {
  EXPECT_EQ(OfDuration(2, 0), 2000);
  EXPECT_EQ(OfDuration(0, 1), 1);
  EXPECT_EQ(OfDuration(1, 500'000'000), 1500);
  EXPECT_EQ(OfDuration(-1, 0), -1000);
}

TEST(TimeTest, NumbersThatAreNoTimesDoNotOverflow) {
  EXPECT_GT(OfDuration(INT64_MAX, INT32_MAX), 0);
  EXPECT_LT(OfDuration(INT64_MIN, INT32_MIN), 0);
}

// protobuf throws where it is to write a time that the message must not hold.
TEST(TimeTest, WhatWasReadCanBeWritten) {
  using google::protobuf::util::TimeUtil;
  for (const int64_t seconds : {INT64_MIN, int64_t{-1'000'000'000'000}, INT64_MAX}) {
    for (const int32_t nanos : {INT32_MIN, 0, INT32_MAX}) {
      TimeUtil::MillisecondsToDuration(OfDuration(seconds, nanos));
      google::protobuf::Timestamp time;
      time.set_seconds(seconds);
      time.set_nanos(nanos);
      TimeUtil::MillisecondsToTimestamp(UnixMilliseconds(time));
    }
  }
}

TEST(TimeTest, TimestampsCountFrom1970) {
  google::protobuf::Timestamp time;
  EXPECT_EQ(UnixMilliseconds(time), 0);
  time.set_seconds(1'700'000'000);
  time.set_nanos(123'000'000);
  EXPECT_EQ(UnixMilliseconds(time), 1'700'000'000'123);
}

}  // namespace
}  // namespace quotient::wire
