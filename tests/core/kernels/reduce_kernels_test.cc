// Reductions to the largest element on the CPU, with NaN in every place.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/eval/evaluator.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

constexpr int64_t kRows = 3, kColumns = 37;

// One NaN at this position, and numbers that rise and fall.
model::Tensor WithNanAt(int64_t position) {
  std::vector<float> numbers(2 * kRows * kColumns);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
  numbers[static_cast<size_t>(position)] = std::nanf("");
  return model::Tensor::Floats({2, kRows, kColumns}, numbers);
}

// Expects the reference's y, bit for bit but for the kind of NaN.
void ExpectReferenceWithNan(const std::string& line) {
  SCOPED_TRACE(line);
  const model::Graph graph =
      GraphOf({"nan", absl::StrCat("input x: float32[2,3,37]\n", line, "\noutput y\n")});
  ASSERT_OK_AND_ASSIGN(const auto backend, onednn::NewBackend(1));
  ASSERT_OK_AND_ASSIGN(const auto executable, backend->CompileGraph(graph, {}));
  const model::ValueId y = graph.outputs[0];
  for (int64_t position = 0; position < 2 * kRows * kColumns; position += 5) {
    const model::Tensor x = WithNanAt(position);
    ASSERT_OK(executable->SetInputs({x}));
    ASSERT_OK(executable->Run());
    ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
    ASSERT_OK_AND_ASSIGN(const auto expected,
                         eval::Evaluate(graph, {{graph.inputs[0], x}}, std::vector{y}, 1));
    for (int64_t i = 0; i < outputs[0].elements(); ++i) {
      const double wanted = expected.at(y).GetDouble(i), found = outputs[0].GetDouble(i);
      ASSERT_TRUE(wanted == found || (std::isnan(wanted) && std::isnan(found)))
          << "NaN at " << position << ", element " << i << ": " << wanted << " wanted, " << found
          << " found";
    }
  }
}

TEST(ReduceKernels, NanWins) {
  ExpectReferenceWithNan("y = ReduceMax(x) {axes=[2]}");
  ExpectReferenceWithNan("y = ReduceMax(x) {axes=[1]}");
  ExpectReferenceWithNan("y = ReduceMax(x) {axes=[0,2]}");
  ExpectReferenceWithNan("y = ReduceMax(x) {axes=[0,1,2]}");
  ExpectReferenceWithNan("y = GlobalMaxPool(x)");
}

}  // namespace
}  // namespace quotient::kernels
