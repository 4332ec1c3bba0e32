// What the lowering asks of cuDNN for the kernels of our graphs is something that cuDNN takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/kernels/cuda/lower.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/cuda/lower_cases.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

// Each once.
void ForEachDnnGraph(MathPolicy policy,
                     const std::function<void(const DnnGraph&, const std::string& name)>& visit) {
  std::set<std::string> visited;
  for (const GraphCase& c : AllGraphCases()) {
    const auto groups =
        PartitionGraph(GraphOf(c), {.storage = Storage::kNative, .fuses_attention = true});
    ASSERT_OK(groups) << c.name;
    for (const KernelGroup& group : *groups) {
      for (const Program& program : Lower(group.spec, policy)) {
        for (const Launch& launch : program.launches) {
          const auto* graph = std::get_if<DnnGraph>(&launch.what);
          if (graph == nullptr || !visited.insert(ToString(*graph)).second) continue;
          visit(*graph, c.name + " " + program.name + ": " + ToString(*graph));
        }
      }
    }
  }
  EXPECT_GT(visited.size(), 20u);
}

bool Has(const DnnGraph& graph, DnnOp op) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const DnnNode& node) { return node.op == op; });
}

TEST(LoweredLegalityTest, EveryGraphHasAPlan) {
  if (!LoadDriverOrStub()) GTEST_SKIP() << "no libcuda.so.1, nor one to link with";
  const auto checker = H200Checker();
  ForEachDnnGraph(MathPolicy::kTf32, [&](const DnnGraph& graph, const std::string& name) {
    ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> plans, checker->Plans(graph));
    EXPECT_FALSE(plans.empty()) << name;
  });
}

TEST(LoweredLegalityTest, ExactGraphsButProductsHavePlansToo) {
  if (!LoadDriverOrStub()) GTEST_SKIP() << "no libcuda.so.1, nor one to link with";
  const auto checker = H200Checker();
  ForEachDnnGraph(MathPolicy::kStrict32, [&](const DnnGraph& graph, const std::string& name) {
    ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> plans, checker->Plans(graph));
    EXPECT_TRUE(Has(graph, DnnOp::kProduct) || !plans.empty()) << name;
  });
}

TEST(LoweredLegalityTest, ConvolutionsAloneArePrecompiled) {
  const auto checker = H200Checker();
  ForEachDnnGraph(MathPolicy::kTf32, [&](const DnnGraph& graph, const std::string& name) {
    if (graph.nodes.size() > 1 ||
        !(Has(graph, DnnOp::kConvolution) || Has(graph, DnnOp::kTransposedConvolution))) {
      return;
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> plans, checker->Plans(graph));
    EXPECT_TRUE(std::any_of(plans.begin(), plans.end(), [](const LibraryPlan& plan) {
      return !plan.compiled_at_run_time;
    })) << name;
  });
}

// Whether the program needs nothing of cuDNN, or what cuDNN has.
bool CanRun(const Program& program, DnnChecker& checker) {
  return std::all_of(program.launches.begin(), program.launches.end(), [&](const Launch& launch) {
    const auto* graph = std::get_if<DnnGraph>(&launch.what);
    if (graph == nullptr) return true;
    const auto plans = checker.Plans(*graph);
    EXPECT_OK(plans);
    return plans.ok() && !plans->empty();
  });
}

TEST(LoweredLegalityTest, ElementwiseChainsHavePlans) {
  if (!LoadDriverOrStub()) GTEST_SKIP() << "no libcuda.so.1, nor one to link with";
  const auto checker = H200Checker();
  for (const LowerCase& c : LowerCases()) {
    if (c.name != "ElementwiseChains") continue;
    for (const KernelSpec& spec : c.specs()) {
      for (const MathPolicy policy : {MathPolicy::kTf32, MathPolicy::kStrict32}) {
        for (const Program& program : LowerElementwise(spec, policy)) {
          EXPECT_TRUE(CanRun(program, *checker)) << KernelKey(spec);
        }
      }
    }
  }
}

class LoweredCasesTest : public ::testing::TestWithParam<LowerCase> {};

TEST_P(LoweredCasesTest, EverySpecHasAProgramThatRuns) {
  if (!LoadDriverOrStub()) GTEST_SKIP() << "no libcuda.so.1, nor one to link with";
  const auto checker = H200Checker();
  for (const KernelSpec& spec : GetParam().specs()) {
    for (const MathPolicy policy : {MathPolicy::kTf32, MathPolicy::kStrict32}) {
      const std::vector<Program> programs = Lower(spec, policy);
      EXPECT_TRUE(std::any_of(programs.begin(), programs.end(), [&](const Program& program) {
        return CanRun(program, *checker);
      })) << KernelKey(spec);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LoweredCasesTest, ::testing::ValuesIn(LowerCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace

}  // namespace quotient::kernels::cuda
