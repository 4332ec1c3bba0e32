// The ONNX project's cases of single operators through the CPU backend.

#include "tests/support/node_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/reason.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/ops/infer_graph.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

using quotient::testing::AllNodeCases;
using quotient::testing::NodeCase;

// The case's graph. Where the result's shape hangs on values of inputs, all inputs but the first
// are constants, as they are in models.
model::Graph StaticGraph(const NodeCase& node_case) {
  model::Graph graph = node_case.graph;
  EXPECT_OK(ops::InferTypes(graph));
  const auto is_static = [&](model::ValueId id) { return graph.value(id).type.is_static(); };
  if (std::all_of(graph.outputs.begin(), graph.outputs.end(), is_static)) return graph;
  graph = node_case.graph;
  for (size_t i = 1; i < node_case.inputs.size(); ++i) {
    graph.value(graph.inputs[i]).constant = node_case.inputs[i];
  }
  graph.inputs.resize(1);
  graph.defaults.resize(1);
  EXPECT_OK(ops::InferTypes(graph));
  return graph;
}

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
