#include "proto/wire/progress.h"

#include <gtest/gtest.h>

namespace quotient::wire {
namespace {

TEST(WireProgressTest, NothingIsLost) {
  const Progress before{.phase = "search",
                        .elapsed_seconds = 1.25,
                        .fraction = 0.5,
                        .original_cost_us = 20,
                        .best_share = 0.75,
                        .enodes = 7,
                        .detail = "detail"};
  const Progress after = FromProto(ToProto(before));
  EXPECT_EQ(after.phase, before.phase);
  EXPECT_EQ(after.elapsed_seconds, before.elapsed_seconds);
  EXPECT_EQ(after.fraction, before.fraction);
  EXPECT_EQ(after.original_cost_us, before.original_cost_us);
  EXPECT_EQ(after.best_share, before.best_share);
  EXPECT_EQ(after.enodes, before.enodes);
  EXPECT_EQ(after.detail, before.detail);
}

TEST(WireProgressTest, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(ToProto(Progress{.detail = "a\xff\xc3\xa9"}).detail(), "a?\xc3\xa9");
}

}  // namespace
}  // namespace quotient::wire
