// What was compiled once is taken from the cache the next time. With a driver that only pretends to
// load code.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/core/kernels/cuda/dnn_cases.h"
#include "tests/core/kernels/cuda/plugin/plugin_under_test.h"
#include "tests/support/cuda/memory_code_cache.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

SourceKernel Kernel(const std::string& body) {
  return {.source = "extern \"C\" __global__ void f(float* x) { " + body + " }",
          .name = "f",
          .num_buffers = 1};
}

TEST(KeptKernelTest, IsCompiledOnce) {
  MemoryCodeCache cache;
  const SourceKernel kernel = Kernel("x[0] = 1;");
  ASSERT_OK_AND_ASSIGN(const std::string compiled,
                       PluginUnderTest().CompileSource(kernel, 90, &cache));
  ASSERT_THAT(cache.entries(), ElementsAre(Pair(_, compiled)));
  cache.Add(cache.entries().begin()->first, "what is kept");
  ASSERT_OK_AND_ASSIGN(const std::string kept, PluginUnderTest().CompileSource(kernel, 90, &cache));
  EXPECT_EQ(kept, "what is kept");
}

TEST(KeptKernelTest, IsOfOneSourceAndArchitecture) {
  MemoryCodeCache cache;
  ASSERT_OK(PluginUnderTest().CompileSource(Kernel("x[0] = 1;"), 90, &cache));
  ASSERT_OK(PluginUnderTest().CompileSource(Kernel("x[0] = 2;"), 90, &cache));
  ASSERT_OK(PluginUnderTest().CompileSource(Kernel("x[0] = 2;"), 80, &cache));
  EXPECT_FALSE(PluginUnderTest().CompileSource(Kernel("oops();"), 90, &cache).ok());
  EXPECT_THAT(cache.entries(), SizeIs(3));
}

class KeptPlanTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(QUOTIENT_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }

  static DnnGraph Graph(const std::string& name) {
    const std::vector<DnnCase> cases = DnnCases(model::DType::kFloat16, MathPolicy::kTf32);
    return std::ranges::find(cases, name, &DnnCase::name)->graph;
  }

  LibraryPlan FirstPlan(const DnnGraph& graph) {
    absl::StatusOr<std::vector<LibraryPlan>> plans = checker_->Plans(graph);
    EXPECT_OK(plans);
    return plans.ok() && !plans->empty() ? plans->front() : LibraryPlan();
  }

  MemoryCodeCache cache_;
  const std::unique_ptr<DnnChecker> checker_ = H200Checker(&cache_);
};

TEST_F(KeptPlanTest, IsCompiledOnce) {
  for (const char* name : {"conv_bias_gelu_erf", "product", "attention", "chain", "layer_norm"}) {
    const DnnGraph graph = Graph(name);
    const LibraryPlan plan = FirstPlan(graph);
    ASSERT_TRUE(plan.compiled_at_run_time) << name;
    const int before = cache_.added();
    ASSERT_OK(checker_->Build(graph, plan.name)) << name;
    EXPECT_EQ(cache_.added(), before + 1) << name;
    ASSERT_OK(checker_->Build(graph, plan.name)) << name;
    EXPECT_EQ(cache_.added(), before + 1) << name << " was compiled again";
  }
}

TEST_F(KeptPlanTest, IsNoneOfThoseThatTakeNoTime) {
  const DnnGraph graph = Graph("conv_bias_relu");
  const LibraryPlan plan = FirstPlan(graph);
  ASSERT_FALSE(plan.compiled_at_run_time);
  ASSERT_OK(checker_->Build(graph, plan.name));
  EXPECT_THAT(cache_.entries(), SizeIs(0));
}

TEST_F(KeptPlanTest, IsBuiltAnewWhereItDoesNotLoad) {
  const DnnGraph graph = Graph("max_pool");
  const LibraryPlan plan = FirstPlan(graph);
  ASSERT_OK(checker_->Build(graph, plan.name));
  ASSERT_THAT(cache_.entries(), SizeIs(1));
  const auto [key, good] = *cache_.entries().begin();
  for (const std::string& bad :
       {std::string(), std::string("{}"), good.substr(0, good.size() / 2)}) {
    cache_.Add(key, bad);
    ASSERT_OK(checker_->Build(graph, plan.name)) << bad.size();
    EXPECT_EQ(cache_.entries().begin()->second.size(), good.size()) << bad.size();
  }
}

// What a launch is given, in order: tensors that lie in memory.
int BuffersOf(const DnnGraph& graph) {
  return static_cast<int>(std::ranges::count_if(graph.tensors, [](const DnnTensor& tensor) {
    return !tensor.is_virtual && !tensor.value.has_value();
  }));
}

// The handle is looked at after the buffers are taken: anything else that is said is of a plan that
// wants others.
TEST_F(KeptPlanTest, EveryCaseGetsAsFarAsItsHandle) {
  int tried = 0;
  for (const DnnCase& c : DnnCases(model::DType::kFloat16, MathPolicy::kTf32)) {
    const LibraryPlan plan = FirstPlan(c.graph);
    // One plan cannot be built without the driver.
    if (plan.name.empty() || !checker_->Build(c.graph, plan.name).ok()) continue;
    ++tried;
    const int buffers = BuffersOf(c.graph);
    EXPECT_THAT(std::string(checker_->ExecuteWithoutHandle(c.graph, plan.name, buffers).message()),
                HasSubstr("handle == __null"))
        << c.name;
    EXPECT_THAT(
        std::string(checker_->ExecuteWithoutHandle(c.graph, plan.name, buffers - 1).message()),
        HasSubstr("does not match expected user slot count"))
        << c.name;
  }
  EXPECT_GE(tried, 52);  // of cuDNN 9.19
}

}  // namespace

}  // namespace quotient::kernels::cuda
