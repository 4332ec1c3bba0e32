#include "core/os/memory.h"

#include <gtest/gtest.h>

namespace quotient::os {
namespace {

TEST(MemoryTest, JobsThatRunAtOnceShareIt) {
  const int64_t all = MemoryBytes();
  EXPECT_GT(all, 0);
  DivideMemory(4);
  EXPECT_EQ(MemoryBytes(), all / 4);
  DivideMemory(1);
  EXPECT_EQ(MemoryBytes(), all);
}

}  // namespace
}  // namespace quotient::os
