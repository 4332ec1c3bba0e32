// Single kernels of the CPU backend, as the timing lane uses them, and the device's name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/kernels/cpu_description.h"
#include "core/kernels/onednn/fingerprint.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onednn {
namespace {

using quotient::testing::StatusIs;
using ::testing::HasSubstr;

TEST(BackendTest, EveryKernelOfEveryGraphCanBeTimed) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  std::set<std::string> seen;
  for (const GraphCase& test_case : AllGraphCases()) {
    SCOPED_TRACE(test_case.name);
    ASSERT_OK_AND_ASSIGN(const auto groups,
                         PartitionGraph(GraphOf(test_case), backend->partition()));
    for (const KernelGroup& group : groups) {
      if (group.spec.free || !seen.insert(KernelKey(group.spec)).second) continue;
      ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(group.spec));
      if (group.spec.op == "Range") continue;  // random operands give another length
      for (const auto& kernel : kernels) EXPECT_OK(kernel->Run(3)) << KernelKey(group.spec);
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

// What a kernel overwrites is restored before each timed run.
TEST(BackendTest, OperandsThatDoNotFitIntoTheCacheAreRefreshed) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  for (const bool is_large : {false, true}) {
    const std::vector<int64_t> dims = {is_large ? 300 : 1, 3001};
    const model::TensorType type = model::StaticType(model::DType::kFloat32, dims);
    const KernelSpec spec = MakeSpec("Add", {}, {{type}, {type}}, {type}, 1, 0);
    ASSERT_OK_AND_ASSIGN(const auto kernels, backend->Compile(spec));
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(kernels[0]->Refresh(), is_large);
      EXPECT_OK(kernels[0]->Run(1));
    }
  }
}

// Compiling a graph frees what stood for weights, but not under a kernel that reads it.
TEST(BackendTest, KernelsCanBeTimedBesideGraphsThatAreCompiled) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  const model::Graph graph = GraphOf({"product", R"(
    input x: float32[1,3000]
    const w: float32[3000,3000] = random(1)
    y = MatMul(x, w)
    output y
  )"});
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, backend->partition()));
  ASSERT_OK_AND_ASSIGN(const auto before, backend->Compile(groups[0].spec));
  ExpectReference(*backend, graph, 1);  // Its weights are large enough to be packed apart.
  ASSERT_OK_AND_ASSIGN(const auto after, backend->Compile(groups[0].spec));
  for (const auto* const kernels : {&before, &after}) {
    (*kernels)[0]->Refresh();
    EXPECT_OK((*kernels)[0]->Run(20));
  }
}

TEST(BackendTest, UnknownOperatorIsUnimplemented) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  const KernelSpec spec = MakeSpec("Mystery", {}, {}, {}, 1, 0);
  EXPECT_THAT(backend->Compile(spec), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(BackendTest, WrongInputsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  ASSERT_OK_AND_ASSIGN(const auto executable,
                       backend->CompileGraph(GraphOf(FindGraphCase("reads_value_twice")), {}));
  EXPECT_THAT(executable->SetInputs({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(executable->SetInputs({model::Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(BackendTest, IndexOutOfRangeIsAnErrorOfTheRun) {
  ASSERT_OK_AND_ASSIGN(const auto backend, NewBackend(1));
  const model::Graph graph = GraphOf({"gather", R"(
    input i: int64[1]
    const table: float32[4,2] = random(1)
    y = Gather(table, i)
    output y
  )"});
  ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, {}));
  const int64_t index = 4;
  ASSERT_OK(executable->SetInputs({model::Tensor::Ints({1}, std::span(&index, 1))}));
  EXPECT_THAT(executable->Run(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(FingerprintTest, NamesTheMachineAndTheThreads) {
  ASSERT_OK_AND_ASSIGN(const DeviceFingerprint one, CpuFingerprint(1, {}));
  ASSERT_OK_AND_ASSIGN(const DeviceFingerprint two, CpuFingerprint(2, {}));
  EXPECT_THAT(one.text, HasSubstr("oneDNN 3."));
  EXPECT_THAT(one.text, ::testing::Not(HasSubstr("\n")));
  EXPECT_NE(one, two);
  ASSERT_OK_AND_ASSIGN(const DeviceFingerprint again, CpuFingerprint(1, {}));
  EXPECT_EQ(one, again);
}

constexpr char kCpuInfo[] =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
    "model name\t: AMD EPYC\nstepping\t: 1\nflags\t\t: fpu avx2 avx512f\n\n"
    "processor\t: 1\nvendor_id\t: Other\n";

TEST(FingerprintTest, ReadsTheFirstProcessor) {
  ASSERT_OK_AND_ASSIGN(const CpuDescription cpu, ParseCpuInfo(kCpuInfo));
  EXPECT_EQ(cpu.vendor, "AuthenticAMD");
  EXPECT_EQ(cpu.model, "17");
  EXPECT_EQ(cpu.model_name, "AMD EPYC");
  EXPECT_EQ(cpu.flags, "fpu avx2 avx512f");
}

TEST(FingerprintTest, RefusesToLeaveAHole) {
  std::string text = kCpuInfo;
  text.replace(text.find("stepping"), 8, "stepless");
  EXPECT_THAT(ParseCpuInfo(text), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(ParseCpuInfo(""), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace quotient::kernels::onednn
