// What the plug-in says where a part of cuDNN is missing: a folder has links to all of CUDA's
// libraries, in one of which there is nothing. Each test is a process of its own, as libraries stay
// loaded.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/kernels/cuda/load_plugin.h"
#include "tests/core/kernels/cuda/dnn_cases.h"

namespace quotient::kernels::cuda {
namespace {

namespace fs = std::filesystem;

class BrokenLibraryTest : public ::testing::Test {
 protected:
  BrokenLibraryTest() { Link(); }
  ~BrokenLibraryTest() override { fs::remove_all(folder_); }

  void Link() const {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const absl::string_view directory : absl::StrSplit(QUOTIENT_CUDA_LIBRARY_DIRS, ':')) {
      for (const fs::directory_entry& entry : fs::directory_iterator(std::string(directory))) {
        const std::string name = entry.path().filename().string();
        for (const char* wanted : {"libcudnn", "libcublasLt.so", "libnvrtc"}) {
          std::error_code there;
          if (absl::StartsWith(name, wanted)) {
            fs::create_symlink(entry.path(), folder_ + "/" + name, there);
          }
        }
      }
    }
    // It looks for libraries beside itself first.
    fs::create_symlink(fs::absolute(QUOTIENT_PLUGIN), folder_ + "/libquotient_cuda.so");
  }

  // By all the names that it is looked for: cuDNN tries one after the other.
  void Break(const std::string& library) const {
    int names = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      if (!absl::StartsWith(entry.path().filename().string(), library)) continue;
      fs::remove(entry.path());
      std::ofstream(entry.path()) << "";
      ++names;
    }
    ASSERT_GT(names, 0) << library;
  }

  // Asks for the plans of a convolution and builds the first one: what came of it, on standard
  // error.
  [[noreturn]] void AskAndExit() const {
    std::fprintf(stderr, "%s\n", Ask().ToString().c_str());
    _exit(0);
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/quotient_broken_", getpid());

 private:
  absl::Status Ask() const {
    const auto plugin = LoadPluginFrom(folder_ + "/libquotient_cuda.so");
    if (!plugin.ok()) return plugin.status();
    std::stringstream properties;
    properties << std::ifstream("tests/data/cuda/h200_properties.json").rdbuf();
    const auto checker = (*plugin)->NewDnnChecker(properties.str(), 90, nullptr);
    if (!checker.ok()) return checker.status();
    const std::vector<DnnCase> cases = DnnCases(model::DType::kFloat16, MathPolicy::kTf32);
    const DnnGraph& graph = std::ranges::find(cases, "conv_bias_relu", &DnnCase::name)->graph;
    const auto plans = (*checker)->Plans(graph);
    if (!plans.ok()) return plans.status();
    if (plans->empty()) return absl::UnknownError("cuDNN has no plan");
    return (*checker)->Build(graph, plans->front().name);
  }
};

TEST_F(BrokenLibraryTest, WithAllOfThemThereIsAPlan) {
  EXPECT_EXIT(AskAndExit(), ::testing::ExitedWithCode(0), "OK");
}

// Without them cuDNN says that it has no plan, and all kernels would go to the host for good.
TEST_F(BrokenLibraryTest, PartsThatCudnnOpensByItselfAreNamed) {
  for (const std::string part : {"libcudnn_heuristic", "libcudnn_engines_precompiled",
                                 "libcudnn_engines_runtime_compiled"}) {
    Link();
    Break(part + ".so");
    EXPECT_EXIT(AskAndExit(), ::testing::ExitedWithCode(0), part + ".so.9: file too short");
  }
}

TEST_F(BrokenLibraryTest, ALibraryThatThePluginIsLinkedWithIsNamed) {
  Break("libcudnn.so");
  EXPECT_EXIT(AskAndExit(), ::testing::ExitedWithCode(0), "libcudnn.so.9: file too short");
}

}  // namespace
}  // namespace quotient::kernels::cuda
