// Random graphs, executed and compared with the reference evaluator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/random_graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

TEST(RandomGraphTest, ExecutionAgreesWithTheReference) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const std::string text = RandomGraphText(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    const model::Graph graph = GraphOf({"random", text});
    ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, {}));
    const std::vector<model::Tensor> inputs = RandomInputs(graph, executable->input_values(), seed);
    ASSERT_OK(executable->SetInputs(inputs));
    ASSERT_OK(executable->Run());
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
    ExpectReference(graph, executable->input_values(), inputs, executable->output_values(),
                    outputs);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quotient::kernels
