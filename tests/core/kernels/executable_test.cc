// Whole graphs through the CPU backend against the reference evaluator.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/eval/evaluator.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

class ExecutableTest : public ::testing::TestWithParam<GraphCase> {};

std::string CaseName(const ::testing::TestParamInfo<GraphCase>& info) { return info.param.name; }

TEST_P(ExecutableTest, AgreesWithTheReference) {
  const model::Graph graph = GraphOf(GetParam());
  const auto backend = onednn::NewBackend(1);
  ASSERT_OK(backend.status());
  for (const uint64_t seed : {1, 2}) ExpectReference(**backend, graph, seed);
}

TEST_P(ExecutableTest, RunsAgainToTheSameResult) {
  const model::Graph graph = GraphOf(GetParam());
  const auto backend = onednn::NewBackend(1);
  ASSERT_OK(backend.status());
  auto executable = (*backend)->CompileGraph(graph, {});
  ASSERT_OK(executable.status());
  ASSERT_OK((*executable)->SetInputs(RandomInputs(graph, (*executable)->input_values(), 3)));
  ASSERT_OK((*executable)->Run());
  const auto first = (*executable)->GetOutputs();
  ASSERT_OK((*executable)->Run());
  const auto second = (*executable)->GetOutputs();
  ASSERT_EQ(first->size(), second->size());
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_TRUE(model::SameContent((*first)[i], (*second)[i])) << "output " << i;
  }
}

// A profile is made of such runs.
TEST_P(ExecutableTest, RunsInStepsToTheSameResult) {
  const model::Graph graph = GraphOf(GetParam());
  const auto backend = onednn::NewBackend(1);
  ASSERT_OK(backend.status());
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, (*backend)->partition()));
  const auto kernels = std::ranges::count_if(groups, [](const auto& g) { return !g.spec.free; });
  ASSERT_OK_AND_ASSIGN(const auto executable, (*backend)->CompileGraph(graph, {}));
  ASSERT_OK(executable->SetInputs(RandomInputs(graph, executable->input_values(), 3)));
  ASSERT_OK(executable->Run());
  ASSERT_OK_AND_ASSIGN(const auto whole, executable->GetOutputs());
  int steps = 0;
  ASSERT_OK(executable->RunInSteps([&] { ++steps; }));
  ASSERT_OK_AND_ASSIGN(const auto stepped, executable->GetOutputs());
  EXPECT_EQ(steps, kernels);
  EXPECT_EQ(steps, executable->num_kernels());
  ASSERT_EQ(whole.size(), stepped.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(model::SameContent(whole[i], stepped[i])) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ExecutableTest, ::testing::ValuesIn(AllGraphCases()), CaseName);

}  // namespace
}  // namespace quotient::kernels
