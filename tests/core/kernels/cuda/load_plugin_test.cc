// Loading a plug-in, by libraries that are none: CMake builds them from fakes/.

#include "core/kernels/cuda/load_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/kernels/cuda/interface/plugin.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::quotient::testing::HasReason;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Fake(const std::string& name) {
  return absl::StrCat(QUOTIENT_FAKE_PLUGINS "/libquotient_fake_plugin_", name, ".so");
}

TEST(LoadPluginTest, SaysWhereItLooked) {
  EXPECT_THAT(
      LoadPlugin("/nowhere/libquotient_cuda.so"),
      HasReason(Reason::kDeviceNotPresent, HasSubstr("/nowhere/libquotient_cuda.so: cannot open")));
}

TEST(LoadPluginTest, RefusesAFileThatIsNoLibrary) {
  const std::string path = ::testing::TempDir() + "/libquotient_no_library.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(LoadPluginFrom(path), HasReason(Reason::kDeviceNotPresent, HasSubstr(path)));
}

TEST(LoadPluginTest, RefusesALibraryThatIsNoPlugin) {
  EXPECT_THAT(LoadPluginFrom(Fake("empty")),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("quotient_cuda_build_id")));
}

TEST(LoadPluginTest, RefusesAPluginOfAnotherBuild) {
  EXPECT_THAT(LoadPluginFrom(Fake("old")),
              HasReason(Reason::kDeviceNotPresent,
                        AllOf(HasSubstr("belongs to another build"),
                              HasSubstr("Quotient of another day"), HasSubstr(PluginBuildId()))));
}

TEST(LoadPluginTest, RefusesAPluginThatMakesNone) {
  EXPECT_THAT(LoadPluginFrom(Fake("half")),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("quotient_cuda_new_plugin")));
}

TEST(LoadPluginTest, NamesTheLibraryThatIsMissing) {
  EXPECT_THAT(
      LoadPluginFrom(Fake("needy")),
      HasReason(Reason::kDeviceNotPresent,
                AllOf(StartsWith(kLibraryMissing), HasSubstr("libquotient_absent.so: cannot open"),
                      HasSubstr("cuDNN 9"), HasSubstr("LD_LIBRARY_PATH"))));
}

// The library is there, but lacks a function that the plug-in was linked with.
TEST(LoadPluginTest, NamesTheSymbolThatIsMissing) {
  EXPECT_THAT(LoadPluginFrom(Fake("dated")),
              HasReason(Reason::kDeviceNotPresent,
                        AllOf(StartsWith(kSymbolMissing), HasSubstr("quotient_newer"),
                              Not(HasSubstr("LD_LIBRARY_PATH")))));
}

TEST(LoadPluginTest, TakesAPluginOfThisBuild) {
  const auto plugin = LoadPluginFrom(Fake("good"));
  ASSERT_OK(plugin);
  EXPECT_EQ(*plugin, nullptr);  // what the fake makes
}

}  // namespace

}  // namespace quotient::kernels::cuda
