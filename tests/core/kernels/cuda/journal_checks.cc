#include "tests/core/kernels/cuda/journal_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::SizeIs;

constexpr DeviceAddress kIllegal = 16;

// The first plan of the library for products writes its results to an illegal address.
class FaultyGpu : public ForwardingGpu {
 public:
  using ForwardingGpu::ForwardingGpu;
  using ForwardingGpu::Prepare;

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto plans, Plans(problem));
    QUOTIENT_ASSIGN_OR_RETURN(auto launcher, ForwardingGpu::Prepare(problem, plan));
    if (plan == plans.front().name) faulty_.push_back(launcher.get());
    return launcher;
  }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    std::vector<Step> changed(steps.begin(), steps.end());
    for (Step& step : changed) {
      if (std::ranges::find(faulty_, step.launcher) != faulty_.end()) step.buffers[2] = kIllegal;
    }
    return ForwardingGpu::Capture(changed);
  }

 private:
  std::vector<const Launcher*> faulty_;
};

// A folder that this process shares with the one that it starts, and removes.
class SharedFolder {
 public:
  SharedFolder() {
    if (const char* given = std::getenv(kVariable); given != nullptr) {
      path_ = given;
      return;
    }
    path_ = absl::StrCat(::testing::TempDir(), "/quotient_journal_", getpid());
    std::filesystem::remove_all(path_);
    setenv(kVariable, path_.c_str(), 1);
    is_ours_ = true;
  }
  ~SharedFolder() {
    if (!is_ours_) return;
    unsetenv(kVariable);
    std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr char kVariable[] = "QUOTIENT_TEST_JOURNAL";
  std::string path_;
  bool is_ours_ = false;
};

// A GPU says that it is lost, and its process ends; one that is emulated dies of it.
bool IsLossOrDeath(int status) {
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || WIFSIGNALED(status);
}

// The ways that are listed, of a file of lines "device, way, kernel".
std::vector<std::string> WaysIn(const std::string& path) {
  std::vector<std::string> ways;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    if (parts.size() == 3) ways.push_back(parts[1]);
  }
  return ways;
}

std::vector<std::string> PlansOf(const Backend& backend, const KernelSpec& spec) {
  std::vector<std::string> plans;
  const auto kernels = backend.Compile(spec);
  EXPECT_OK(kernels.status());
  if (!kernels.ok()) return plans;
  for (const auto& kernel : *kernels) plans.push_back(kernel->plan());
  return plans;
}

}  // namespace

Product SmallProduct() {
  Product product{.graph = GraphOf({"product", R"(
    input x: float32[64,128]
    const w: float32[128,96] = random(1)
    y = MatMul(x, w)
    output y
  )"})};
  const auto groups =
      PartitionGraph(product.graph, {.storage = Storage::kNative, .fuses_attention = true});
  EXPECT_OK(groups.status());
  if (groups.ok()) product.spec = groups->front().spec;
  return product;
}

void ExpectRunsWithout(const std::string& barred, const Backend& backend,
                       const model::Graph& graph) {
  ASSERT_OK_AND_ASSIGN(
      const auto executable,
      backend.CompileGraph(graph, [&barred](const KernelSpec&) { return barred; }));
  ASSERT_OK(executable->SetInputs(RandomInputs(graph, executable->input_values(), 1)));
  EXPECT_OK(executable->Run());
}

void ExpectNobodyMeetsADeadlyPlanTwice(const std::function<std::unique_ptr<Gpu>()>& open_gpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const SharedFolder folder;
  const auto open = [&] {
    return NewBackend(std::make_unique<FaultyGpu>(open_gpu()), {.cache_directory = folder.path()});
  };
  const Product product = SmallProduct();
  const auto die = [&] {
    // Destroys all of it before the process ends.
    const absl::Status status = open()->Compile(product.spec).status();
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(status.ok() ? 1 : 0);
  };
  EXPECT_EXIT(die(), IsLossOrDeath, "");

  const auto backend = open();
  const std::vector<std::string> barred = WaysIn(folder.path() + "/barred");
  ASSERT_THAT(barred, SizeIs(1));
  const auto careless = NewBackend(open_gpu(), CudaOptions());
  EXPECT_THAT(PlansOf(*careless, product.spec), Contains(barred.front()));
  const std::vector<std::string> plans = PlansOf(*backend, product.spec);
  EXPECT_THAT(plans, Not(::testing::IsEmpty()));
  EXPECT_THAT(plans, Not(Contains(barred.front())));
  ExpectRunsWithout(barred.front(), *backend, product.graph);
}

}  // namespace quotient::kernels::cuda
