// The ONNX project's cases of single operators through the CPU backend.

#include "tests/support/node_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

using quotient::testing::AllNodeCases;
using quotient::testing::NodeCase;
using quotient::testing::StaticGraph;

TEST(NodeCasesTest, AllComputeWhatOnnxExpects) {
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  int computed = 0;
  for (const NodeCase& node_case : AllNodeCases()) {
    SCOPED_TRACE(node_case.name);
    const model::Graph graph = StaticGraph(node_case);
    const auto executable = backend->CompileGraph(graph, {});
    // A shape that hangs on values is not known before they are.
    if (GetReason(executable.status()) == Reason::kShapeMissing) continue;
    ASSERT_OK(executable.status());
    std::vector<model::Tensor> inputs;
    for (model::ValueId id : (*executable)->input_values()) {
      for (size_t i = 0; i < graph.inputs.size(); ++i) {
        if (graph.inputs[i] == id) inputs.push_back(node_case.inputs[i]);
      }
    }
    ASSERT_OK((*executable)->SetInputs(inputs));
    ASSERT_OK((*executable)->Run());
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, (*executable)->GetOutputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (size_t k = 0; k < graph.outputs.size(); ++k) {
        if (graph.outputs[k] != (*executable)->output_values()[i]) continue;
        ExpectClose(node_case.outputs[k], outputs[i], "output");
        ++computed;
      }
    }
  }
  EXPECT_GT(computed, static_cast<int>(AllNodeCases().size()) * 9 / 10);
}

}  // namespace
}  // namespace quotient::kernels
