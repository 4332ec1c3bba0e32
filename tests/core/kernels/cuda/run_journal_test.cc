// A kernel that takes the process or the GPU with it is not met again.

#include "core/kernels/cuda/run_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/cuda/journal_checks.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RunJournalTest : public ::testing::Test {
 protected:
  RunJournalTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RunJournalTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RunJournal> Open(const std::string& device = "this device") {
    return OpenRunJournal(folder_, device);
  }

  // Runs it in a process that does not come back, and returns how that ended.
  template <typename Work>
  static int Die(Work&& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);  // without destructors, as by a signal
    }
    EXPECT_GT(child, 0);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "/quotient_run_journal_", getpid());
};

TEST_F(RunJournalTest, WhatAProcessDidNotComeBackFromIsBarred) {
  Die([this] {
    auto* journal = Open().release();
    journal->Begin({"good\nkernel", "also good\nkernel"});
    journal->Returned({"good\nkernel", "also good\nkernel"});
    journal->Begin({"bad\nkernel"});
  });
  for (int opened = 0; opened < 2; ++opened) {  // it stays barred
    const auto journal = Open();
    EXPECT_TRUE(journal->IsBarred("bad\nkernel"));
    EXPECT_FALSE(journal->IsBarred("good\nkernel"));
    EXPECT_FALSE(journal->IsBarred("also good\nkernel"));
  }
  EXPECT_FALSE(Open("another device")->IsBarred("bad\nkernel"));
}

TEST_F(RunJournalTest, WhatLivingProcessesRunIsNotBarred) {
  const auto running = Open();
  EXPECT_TRUE(running->Begin({"slow\nkernel"}));
  EXPECT_FALSE(Open()->IsBarred("slow\nkernel"));
}

TEST_F(RunJournalTest, WhatCameBackIsNotWrittenDownAgain) {
  const auto journal = Open();
  EXPECT_TRUE(journal->Begin({"a\nkernel"}));
  journal->Returned({"a\nkernel"});
  EXPECT_FALSE(journal->Begin({"a\nkernel"}));
  EXPECT_TRUE(journal->Begin({"a\nkernel", "b\nkernel"}));
}

TEST_F(RunJournalTest, AnOrderlyEndLeavesNothing) {
  { const auto journal = Open(); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(RunJournalTest, AProcessThatIsAskedToEndHasNotCrashed) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGKILL, SIGSEGV}) {
    const std::string way = absl::StrCat("way ", number, "\nkernel");
    const int status = Die([&] {
      Open().release()->Begin({way});
      raise(number);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number;
    const bool is_crash = number == SIGKILL || number == SIGSEGV;
    EXPECT_EQ(Open()->IsBarred(way), is_crash) << number;
  }
}

// Whoever waits for it asks it to end.
TEST_F(RunJournalTest, WhatHasBeenRunningForLongIsBarredAllTheSame) {
  Die([this] {
    Open().release()->Begin({"endless\nkernel"});
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::last_write_time(
          entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
    }
    raise(SIGTERM);
  });
  EXPECT_TRUE(Open()->IsBarred("endless\nkernel"));
}

TEST_F(RunJournalTest, SignalsThatTheProgramHandlesAreLeftToIt) {
  const int status = Die([this] {
    signal(SIGTERM, [](int) { _exit(7); });
    Open().release()->Begin({"a\nkernel"});
    raise(SIGTERM);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST_F(RunJournalTest, WhatLostTheGpuIsBarredByAnOrderlyEndToo) {
  {
    const auto journal = Open();
    journal->Begin({"good\nkernel"});
    journal->Returned({"good\nkernel"});
    journal->Begin({"bad\nkernel"});  // never returns
  }
  const auto journal = Open();
  EXPECT_TRUE(journal->IsBarred("bad\nkernel"));
  EXPECT_FALSE(journal->IsBarred("good\nkernel"));
}

TEST_F(RunJournalTest, AFolderThatCannotBeWrittenIsNoFailure) {
  std::ofstream(folder_ + "/file") << "no folder";
  const auto journal = OpenRunJournal(folder_ + "/file", "this device");
  journal->Begin({"a\nkernel"});
  EXPECT_FALSE(journal->IsBarred("a\nkernel"));
}

// Its "rounded" plans lose the GPU when they run.
class DeadlyGpu : public ForwardingGpu {
 public:
  absl::Status health() const override { return health_; }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    auto launcher = ForwardingGpu::Prepare(problem, plan);
    if (launcher.ok() && plan == "rounded") deadly_.push_back(launcher->get());
    return launcher;
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    auto launcher = ForwardingGpu::Prepare(graph, plan);
    if (launcher.ok() && plan == "rounded") deadly_.push_back(launcher->get());
    return launcher;
  }
  using ForwardingGpu::Prepare;

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    for (const Step& step : steps) {
      if (std::count(deadly_.begin(), deadly_.end(), step.launcher) == 0) continue;
      return std::make_unique<Death>(&health_);
    }
    QUOTIENT_RETURN_IF_ERROR(health_);
    return ForwardingGpu::Capture(steps);
  }

 private:
  class Death : public Replay {
   public:
    explicit Death(absl::Status* health) : health_(*health) {}
    absl::StatusOr<Reading> Run() override {
      health_ = MakeError(Reason::kDeviceLost, "an illegal address");
      return health_;
    }

   private:
    absl::Status& health_;
  };

  absl::Status health_;
  std::vector<const Launcher*> deadly_;
};

TEST_F(RunJournalTest, TheNextProcessDoesNotMeetTheKernelThatLostTheGpu) {
  const CudaOptions options{.cache_directory = folder_};
  const Product product = SmallProduct();
  // cuBLASLt's and cuDNN's: a process loses the GPU by the first, the next one by the second.
  for (int process = 0; process < 2; ++process) {
    Die([&] {
      auto* backend = NewBackend(std::make_unique<DeadlyGpu>(), options).release();
      EXPECT_FALSE(backend->Compile(product.spec).ok());
    });
  }
  const auto backend = NewBackend(std::make_unique<DeadlyGpu>(), options);
  ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(product.spec));
  std::vector<std::string> plans;
  for (const auto& kernel : kernels) plans.push_back(kernel->plan());
  EXPECT_THAT(plans, Contains(HasSubstr("exact")));
  EXPECT_THAT(plans, Each(Not(HasSubstr("rounded"))));
  EXPECT_OK(kernels.front()->Run(10));
  // Nor do graphs that want it by its name.
  const std::string good = kernels.front()->plan();
  ExpectRunsWithout(good.substr(0, good.find(':')) + ":rounded", *backend, product.graph);
}

TEST_F(RunJournalTest, AGraphThatLosesTheGpuBarsOneKernelAlone) {
  const CudaOptions options{.cache_directory = folder_};
  const model::Graph graph = GraphOf({"two_kernels", R"(
    input x: float32[4,8]
    const w: float32[8,6] = random(1)
    s = Softmax(x) {axis=1}
    m = MatMul(s, w)
    y = Softmax(m) {axis=1}
    output y
  )"});
  const auto healthy = NewBackend(NewHostGpu(), CudaOptions());
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, healthy->partition()));
  std::string bad;
  for (const KernelGroup& group : groups) {
    if (group.spec.free || group.spec.op != "MatMul") continue;
    ASSERT_OK_AND_ASSIGN(const auto kernels, healthy->Compile(group.spec));
    const std::string plan = kernels.front()->plan();
    bad = plan.substr(0, plan.find(':')) + ":rounded";
  }
  const auto plans = [&](const KernelSpec& spec) { return spec.op == "MatMul" ? bad : ""; };
  Die([&] {
    auto* backend = NewBackend(std::make_unique<DeadlyGpu>(), options).release();
    auto executable = backend->CompileGraph(graph, plans);
    EXPECT_OK(executable);
    EXPECT_OK((*executable)->SetInputs(RandomInputs(graph, (*executable)->input_values(), 1)));
    EXPECT_EQ(GetReason((*executable)->Run()), Reason::kDeviceLost);
    executable->release();
  });
  const auto backend = NewBackend(std::make_unique<DeadlyGpu>(), options);
  std::ifstream file(folder_ + "/barred");
  std::vector<std::string> barred;
  for (std::string line; std::getline(file, line);) barred.push_back(line);
  EXPECT_THAT(barred, ElementsAre(HasSubstr(bad)));
  ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, plans));
  ASSERT_OK(executable->SetInputs(RandomInputs(graph, executable->input_values(), 1)));
  EXPECT_OK(executable->Run());
}

// As in the suite for a GPU (gpu/journal_gpu_test.cc).
TEST(EmulatedJournalDeathTest, NobodyMeetsADeadlyPlanTwice) {
  ExpectNobodyMeetsADeadlyPlanTwice([] { return NewHostGpu(); });
}

TEST_F(RunJournalTest, APatchLevelOfTheDriverForgivesNothing) {
  Die([this] { Open("cuda; driver 580.159.03 for 13000").release()->Begin({"bad\nkernel"}); });
  EXPECT_TRUE(Open("cuda; driver 580.159.04 for 13000")->IsBarred("bad\nkernel"));
  EXPECT_FALSE(Open("cuda; driver 580.160.04 for 13000")->IsBarred("bad\nkernel"));
}

}  // namespace
}  // namespace quotient::kernels::cuda
