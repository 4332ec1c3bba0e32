// The test executes itself: the environment is what is tested.

#include "core/os/openmp_environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace quotient::os {
namespace {

char* g_arguments[] = {nullptr, nullptr, nullptr};

TEST(OpenMpEnvironmentTest, IsCompleteAfterOneRestartAndKeepsWhatTheUserSet) {
  // Set before the restart in main() below.
  EXPECT_STREQ(getenv("OMP_DYNAMIC"), "true");
  ASSERT_NE(getenv("GOMP_SPINCOUNT"), nullptr);
  // Returns, because nothing is missing.
  EnsureOpenMpEnvironment(g_arguments, ReadEnvironment(environ));
}

}  // namespace
}  // namespace quotient::os

int main(int argc, char** argv) {
  setenv("OMP_DYNAMIC", "true", /*overwrite=*/1);
  quotient::os::EnsureOpenMpEnvironment(argv, quotient::os::ReadEnvironment(environ));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
