#include "core/os/free_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace quotient::os {
namespace {

// That there are enough cannot be tested: other programs may run beside this one.
TEST(FreeCoresTest, MoreThreadsThanCoresHaveNone) {
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  EXPECT_FALSE(HasFreeCores(4 * cores));
}

}  // namespace
}  // namespace quotient::os
