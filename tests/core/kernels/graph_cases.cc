#include "tests/core/kernels/graph_cases.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/rng.h"
#include "core/eval/evaluator.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

// The file as a part of the program, which may run where there is no checkout.
constexpr char kGraphs[] =
#include "graphs.inc"
    ;
// An empty list of cases would pass every test over it.
static_assert(sizeof(kGraphs) > 1000);

}  // namespace

std::vector<GraphCase> AllGraphCases() {
  std::vector<GraphCase> cases;
  for (absl::string_view line : absl::StrSplit(kGraphs, '\n')) {
    if (absl::ConsumePrefix(&line, "=== ")) {
      cases.push_back({std::string(absl::StripAsciiWhitespace(line)), ""});
    } else if (!cases.empty()) {
      absl::StrAppend(&cases.back().body, line, "\n");
    }
  }
  return cases;
}

GraphCase FindGraphCase(const std::string& name) {
  for (const GraphCase& found : AllGraphCases()) {
    if (found.name == name) return found;
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

model::Graph GraphOf(const GraphCase& test_case) {
  auto graph = model::ParseGraph(absl::StrCat("graph g {\n", test_case.body, "}"));
  EXPECT_TRUE(graph.ok()) << test_case.name << ": " << graph.status();
  if (!graph.ok()) return {};
  const absl::Status inferred = ops::InferTypes(*graph);
  EXPECT_TRUE(inferred.ok()) << test_case.name << ": " << inferred;
  return *std::move(graph);
}

std::vector<model::Tensor> RandomInputs(const model::Graph& graph,
                                        const std::vector<model::ValueId>& values, uint64_t seed) {
  std::vector<model::Tensor> tensors;
  for (model::ValueId id : values) {
    const model::TensorType& type = graph.value(id).type;
    Rng rng(seed, id.value());
    std::span<std::byte> bytes;
    model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &bytes);
    std::vector<double> numbers(static_cast<size_t>(tensor.elements()));
    for (double& number : numbers) {
      number = model::IsFloat(type.dtype)
                   ? rng.Uniform(-1, 1)
                   : static_cast<double>(rng.Below(type.dtype == model::DType::kBool ? 2 : 3));
    }
    model::Store(type.dtype, bytes, 0, std::span<const double>(numbers));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

namespace {

double Tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat16:
      return 4e-3;
    case model::DType::kBfloat16:
      return 3e-2;
    default:
      return model::IsFloat(dtype) ? 1e-4 : 0;
  }
}

}  // namespace

void ExpectClose(const model::Tensor& expected, const model::Tensor& actual,
                 const std::string& name) {
  ASSERT_EQ(ToString(expected.type()), ToString(actual.type())) << name;
  const std::vector<double> wanted = expected.AsDoubles();
  const std::vector<double> found = actual.AsDoubles();
  double largest = 0;
  for (double value : wanted) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  // Differences of equal numbers are zero but for rounding: relative to the numbers, which are
  // about 1 here.
  const double allowed = Tolerance(expected.dtype()) * std::max(largest, 0.01);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
    if (wanted[i] == found[i]) continue;
    ASSERT_LE(std::fabs(wanted[i] - found[i]), allowed)
        << name << "[" << i << "]: " << wanted[i] << " wanted, " << found[i] << " found";
  }
}

void ExpectReference(const Backend& backend, const model::Graph& graph, uint64_t seed) {
  ASSERT_OK_AND_ASSIGN(const auto executable, backend.CompileGraph(graph, {}));
  const std::vector<model::Tensor> inputs = RandomInputs(graph, executable->input_values(), seed);
  eval::ValueMap given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.insert_or_assign(executable->input_values()[i], inputs[i]);
  }
  const std::vector<model::ValueId>& values = executable->output_values();
  ASSERT_OK_AND_ASSIGN(const auto expected, eval::Evaluate(graph, given, values, 1));
  ASSERT_OK(executable->SetInputs(inputs));
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK(executable->Run());
    ASSERT_OK_AND_ASSIGN(const auto outputs, executable->GetOutputs());
    ASSERT_EQ(outputs.size(), values.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      ExpectClose(expected.at(values[i]), outputs[i], graph.value(values[i]).name);
    }
  }
}

}  // namespace quotient::kernels
