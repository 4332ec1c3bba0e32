// How kernels are chosen and timed, on a GPU that is emulated.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "core/base/stop.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/partition.h"
#include "core/timing/service.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/forwarding_gpu.h"
#include "tests/support/cuda/host_gpu.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using quotient::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

KernelSpec ProductOf(model::DType type) {
  const auto of = [&](int64_t rows, int64_t columns) {
    return model::StaticType(type, std::vector<int64_t>{rows, columns});
  };
  return MakeSpec("MatMul", {}, {Operand{of(4, 8)}, Operand{of(8, 6), true}}, {of(4, 6)}, 1, 10,
                  Storage::kNative);
}

std::vector<std::string> PlansOf(const KernelSpec& spec, MathPolicy policy) {
  const auto backend = NewBackend(NewHostGpu(), {.policy = policy});
  const auto kernels = backend->Compile(spec);
  EXPECT_OK(kernels.status());
  std::vector<std::string> plans;
  for (const auto& kernel : *kernels) plans.push_back(kernel->plan());
  return plans;
}

TEST(CudaBackendTest, StrictFloatsAreNeverRounded) {
  EXPECT_THAT(PlansOf(ProductOf(model::DType::kFloat32), MathPolicy::kStrict32),
              Each(Not(HasSubstr("rounded"))));
  EXPECT_THAT(PlansOf(ProductOf(model::DType::kFloat32), MathPolicy::kTf32),
              Contains(HasSubstr("rounded")));
  // Tensor cores are where 16-bit floats are multiplied, whatever the policy of wider ones.
  EXPECT_THAT(PlansOf(ProductOf(model::DType::kFloat16), MathPolicy::kStrict32),
              Contains(HasSubstr("rounded")));
}

TEST(CudaBackendTest, EveryKernelOfEveryGraphCanBeTimed) {
  const auto backend = NewBackend(NewHostGpu(), CudaOptions());
  std::map<std::string, KernelSpec> seen;
  for (const GraphCase& test_case : AllGraphCases()) {
    ASSERT_OK_AND_ASSIGN(const auto groups,
                         PartitionGraph(GraphOf(test_case), backend->partition()));
    for (const KernelGroup& group : groups) {
      if (!group.spec.free) seen.emplace(KernelKey(group.spec), group.spec);
    }
  }
  int checked = 0;
  for (const auto& [key, spec] : seen) {
    // Compiling takes its time here: every eighth is enough. A Range of random operands has
    // another length.
    if (++checked % 8 != 0 || spec.op == "Range") continue;
    SCOPED_TRACE(key);
    ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(spec));
    ASSERT_OK(kernels.front()->Run(1));
    ASSERT_TRUE(kernels.front()->reading().has_value());
    const double us = kernels.front()->reading()->us;
    EXPECT_GE(us, 0.5);
    ASSERT_OK(kernels.front()->Run(100));  // a chain of 64, twice, of which 100 count
    EXPECT_NEAR(kernels.front()->reading()->us, 100 * us, 1e-6);
  }
}

TEST(CudaBackendTest, AKernelOfNothingCanBeTimed) {
  const auto backend = NewBackend(NewHostGpu(), CudaOptions());
  const model::Graph graph = GraphOf({"nothing", R"(
    input x: float32[0,3]
    y = Relu(x)
    output y
  )"});
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, backend->partition()));
  ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(groups.front().spec));
  EXPECT_OK(kernels.front()->Run(1));
}

TEST(CudaBackendTest, TheServiceFindsTheFastestPlanAndGraphsRunByIt) {
  for (const MathPolicy policy : {MathPolicy::kStrict32, MathPolicy::kTf32}) {
    const auto backend = NewBackend(NewHostGpu(), {.policy = policy, .compile_threads = 2});
    const auto store = timing::NewMemoryStore();
    timing::Lane lane;
    const auto service = timing::NewTimingService(backend.get(), store.get(), &lane, {});
    const model::Graph graph = GraphOf({"product", R"(
      input x: float32[4,8]
      const w: float32[8,6] = random(1)
      y = MatMul(x, w)
      output y
    )"});
    ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, backend->partition()));
    const auto future = service->Get(groups.front().spec);
    service->Wait({});
    const bool strict = policy == MathPolicy::kStrict32;
    EXPECT_THAT(future.get().plan, HasSubstr(strict ? "exact" : "rounded"));
    const PlanChoice plans = [&](const KernelSpec& spec) { return service->Find(spec)->plan; };
    ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, plans));
    ASSERT_OK(executable->SetInputs(RandomInputs(graph, executable->input_values(), 1)));
    ASSERT_OK(executable->Run());
    EXPECT_EQ(executable->reading()->us, strict ? 1 : 0.5);
  }
}

// There are as many of them as of right ones, or more, and they agree with each other.
TEST(CudaBackendTest, FastWrongPlansDoNotRace) {
  for (const MathPolicy policy : {MathPolicy::kStrict32, MathPolicy::kTf32}) {
    const auto backend = NewBackend(NewHostGpu(/*has_wrong_plans=*/true), {.policy = policy});
    ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(ProductOf(model::DType::kFloat32)));
    EXPECT_GE(kernels.size(), 1);
    for (const auto& kernel : kernels) EXPECT_THAT(kernel->plan(), Not(HasSubstr("wrong")));
  }
}

TEST(CudaBackendTest, FingerprintsTellPoliciesApart) {
  const auto strict = NewBackend(NewHostGpu(), {.policy = MathPolicy::kStrict32});
  const auto rounded = NewBackend(NewHostGpu(), {.policy = MathPolicy::kTf32});
  EXPECT_NE(strict->fingerprint(), rounded->fingerprint());
  EXPECT_THAT(strict->fingerprint().text, HasSubstr("math strict32"));
}

// Its libraries have nothing.
class BareGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem&) override {
    return std::vector<LibraryPlan>();
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph&) override {
    return std::vector<LibraryPlan>();
  }
};

TEST(CudaBackendTest, WhatNoLibraryHasRunsOnTheHost) {
  const auto backend = NewBackend(std::make_unique<BareGpu>(), CudaOptions());
  ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(ProductOf(model::DType::kFloat32)));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]->plan(), "host");
  for (const char* name : {"residual_block", "attention", "attention_of_two_sequences"}) {
    ExpectReference(*backend, GraphOf(FindGraphCase(name)), 1);
  }
}

// Its cuBLASLt has no memory the first time that it is asked.
class ShortOfMemoryGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) override {
    if (asked_++ == 0) return absl::ResourceExhaustedError("no memory left");
    return ForwardingGpu::Plans(problem);
  }

 private:
  int asked_ = 0;
};

TEST(CudaBackendTest, ALibraryThatCouldNotAnswerIsAskedAgain) {
  const auto backend = NewBackend(std::make_unique<ShortOfMemoryGpu>(), CudaOptions());
  const auto with_memory = NewBackend(NewHostGpu(), CudaOptions());
  const KernelSpec spec = ProductOf(model::DType::kFloat32);
  ASSERT_OK_AND_ASSIGN(const auto all, with_memory->Compile(spec));
  const auto first = backend->Compile(spec);
  if (first.ok()) {
    EXPECT_LT(first->size(), all.size());
  }
  ASSERT_OK_AND_ASSIGN(const auto second, backend->Compile(spec));
  EXPECT_EQ(second.size(), all.size());
}

// What the backend logs while it compiles this.
std::string LogOf(const Backend& backend, const KernelSpec& spec) {
  ::testing::internal::CaptureStderr();
  EXPECT_OK(backend.Compile(spec).status());
  return ::testing::internal::GetCapturedStderr();
}

// tests/gpu.sh looks for this text.
TEST(CudaBackendTest, AnErrorOfOneLibraryIsToldThoughAnotherOneHasPlans) {
  constexpr char kTrouble[] = "trouble of a library: ";
  const KernelSpec spec = ProductOf(model::DType::kFloat32);
  const auto healthy = NewBackend(NewHostGpu(), CudaOptions());
  EXPECT_THAT(LogOf(*healthy, spec), Not(HasSubstr(kTrouble)));
  const auto backend = NewBackend(std::make_unique<ShortOfMemoryGpu>(), CudaOptions());
  EXPECT_THAT(LogOf(*backend, spec),
              AllOf(HasSubstr(kTrouble), HasSubstr("MatMul"), HasSubstr("no memory left")));
}

// Cannot capture its first sequence, as with a kernel that is not for captures.
class FussyGpu : public ForwardingGpu {
 public:
  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    if (captured_++ == 0) return absl::InternalError("not while a stream is captured");
    return ForwardingGpu::Capture(steps);
  }

 private:
  int captured_ = 0;
};

TEST(CudaBackendTest, AWayThatDoesNotRunDoesNotTakeTheOthersAlong) {
  const auto all = NewBackend(NewHostGpu(), CudaOptions());
  const auto backend = NewBackend(std::make_unique<FussyGpu>(), CudaOptions());
  const KernelSpec spec = ProductOf(model::DType::kFloat32);
  ASSERT_OK_AND_ASSIGN(const auto expected, all->Compile(spec));
  ::testing::internal::CaptureStderr();
  ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(spec));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("trouble of a library: "), HasSubstr("does not run")));
  ASSERT_EQ(kernels.size(), expected.size() - 1);
  EXPECT_EQ(kernels.front()->plan(), expected[1]->plan());
}

// Counts compilations, and can make the first one wait for a second.
// Thread-safe.
class Compilations {
 public:
  // From now on, Add returns only once it has been called twice.
  void AwaitTwo() {
    const absl::MutexLock lock(&mutex_);
    awaited_ = 2;
  }
  void Add() {
    const absl::MutexLock lock(&mutex_);
    ++count_;
    mutex_.Await(absl::Condition(
        +[](Compilations* self) { return self->count_ >= self->awaited_; }, this));
  }
  int count() {
    const absl::MutexLock lock(&mutex_);
    return count_;
  }

 private:
  absl::Mutex mutex_;
  int awaited_ = 0;
  int count_ = 0;
};

// Reports each of its compilations.
class CompilingGpu : public ForwardingGpu {
 public:
  explicit CompilingGpu(Compilations* seen) : seen_(*seen) {}
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    seen_.Add();
    return ForwardingGpu::Prepare(problem, plan);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) override {
    seen_.Add();
    return ForwardingGpu::Prepare(kernel);
  }

 private:
  Compilations& seen_;
};

TEST(CudaBackendTest, WhatIsPreparedIsNotCompiledAgain) {
  Compilations seen;
  const auto backend =
      NewBackend(std::make_unique<CompilingGpu>(&seen), {.policy = MathPolicy::kStrict32});
  const KernelSpec specs[] = {ProductOf(model::DType::kFloat32), ProductOf(model::DType::kFloat16)};
  CancelToken cancelled;
  cancelled.Cancel();
  backend->Prepare(specs, StopCondition(&cancelled));
  EXPECT_EQ(seen.count(), 0);
  backend->Prepare(specs, StopCondition());
  const int count = seen.count();
  EXPECT_GE(count, 2);
  for (const KernelSpec& spec : specs) EXPECT_OK(backend->Compile(spec));
  EXPECT_EQ(seen.count(), count);
}

// The first compilation waits for a second one, which another thread must begin.
TEST(CudaBackendTest, KernelsOfAGraphAreCompiledAtOnceAndEachOnce) {
  constexpr char kGraph[] = R"(
    input x: float32[4,8]
    const w: float32[8,8] = random(1)
    const v: float32[8,6] = random(2)
    a = MatMul(x, w)
    b = MatMul(a, w)
    y = MatMul(b, v)
    output y
  )";
  Compilations seen;
  seen.AwaitTwo();
  const auto backend = NewBackend(std::make_unique<CompilingGpu>(&seen), {.compile_threads = 2});
  ASSERT_OK(backend->CompileGraph(GraphOf({"products", kGraph}), nullptr));
  EXPECT_EQ(seen.count(), 2);
}

// Its own kernels compute nothing where they read and write the same memory.
class ShyGpu : public ForwardingGpu {
 public:
  using ForwardingGpu::Prepare;
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) override {
    auto launcher = ForwardingGpu::Prepare(kernel);
    if (launcher.ok()) own_.insert(launcher->get());
    return launcher;
  }
  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    std::vector<Step> kept;
    for (const Step& step : steps) {
      const bool in_place = step.buffers.front() == step.buffers.back();
      if (!in_place || own_.count(step.launcher) == 0) kept.push_back(step);
    }
    return ForwardingGpu::Capture(kept);
  }

 private:
  std::set<const Launcher*> own_;
};

// Graphs let element-wise kernels write over what they read.
TEST(CudaBackendTest, AKernelThatIsWrongInPlaceDoesNotRace) {
  const auto square = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{16, 16});
  const KernelSpec spec = MakeSpec("Exp", {}, {Operand{square}}, {square}, 1, 0, Storage::kNative);
  EXPECT_OK(NewBackend(NewHostGpu(), CudaOptions())->Compile(spec));
  EXPECT_THAT(NewBackend(std::make_unique<ShyGpu>(), CudaOptions())->Compile(spec),
              StatusIs(absl::StatusCode::kInternal));
}

TEST(CudaBackendTest, WhatHasNoKernelSaysSo) {
  const auto backend = NewBackend(NewHostGpu(), CudaOptions());
  EXPECT_THAT(backend->Compile(MakeSpec("Mystery", {}, {}, {}, 1, 0, Storage::kNative)),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace quotient::kernels::cuda
