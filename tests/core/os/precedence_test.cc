// Whether a process may take precedence depends on who runs the tests.

#include "core/os/precedence.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <functional>
#include <thread>

namespace quotient::os {
namespace {

void OnAnotherThread(const std::function<void()>& body) { std::thread(body).join(); }

// Whether the calling thread has given up its core to leave a share to others.
bool LeavesAShare() {
  rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  LeaveShareToOthers(/*us=*/10'000);
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw > before.ru_nvcsw;
}

TEST(PrecedenceTest, IsOfTheThreadAndOfThoseItStarts) {
  OnAnotherThread([] {
    const int expected = TakePrecedence() ? SCHED_RR : SCHED_OTHER;
    EXPECT_EQ(sched_getscheduler(0), expected);
    OnAnotherThread([=] { EXPECT_EQ(sched_getscheduler(0), expected); });
  });
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(PrecedenceTest, OnlyWhoHasItLeavesAShare) {
  OnAnotherThread([] {
    EXPECT_FALSE(LeavesAShare());
    const bool takes = TakePrecedence();
    EXPECT_EQ(LeavesAShare(), takes);
  });
}

}  // namespace
}  // namespace quotient::os
