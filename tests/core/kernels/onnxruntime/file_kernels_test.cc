// The kernels that ONNX Runtime makes of files: what it fuses, where its blocked layouts begin and
// end, and that each of them can be timed alone.

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const Backend& SharedBackend() {
  static const auto& backend =
      *new absl::StatusOr<std::unique_ptr<Backend>>(NewBackend(kCpuDevice, 1, {}));
  EXPECT_THAT(backend, quotient::testing::IsOk());
  return **backend;
}

absl::StatusOr<FileKernels> KernelsOf(const model::Graph& graph) {
  QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph written, WriteGraph(graph));
  return SharedBackend().KernelsOfFile(written.file, written.values,
                                       RandomInputs(graph, graph.inputs, 1), 0);
}

// The operators of the kernels; all of these can be timed.
std::vector<std::string> OperatorsOf(const std::string& body) {
  const absl::StatusOr<FileKernels> kernels = KernelsOf(GraphOf({"g", body}));
  EXPECT_THAT(kernels, quotient::testing::IsOk());
  std::vector<std::string> operators;
  for (const FileKernel& kernel : kernels->kernels) {
    operators.push_back(kernel.op);
    EXPECT_TRUE(kernel.spec.has_value()) << kernel.op;
  }
  return operators;
}

constexpr char kWeights[] =
    "const w: float32[16,16,3,3] = random(1)\nconst v: float32[16,16,3,3] = random(2)\n"
    "const b: float32[16] = random(3)\n";

TEST(FileKernelsTest, LayoutsChangeAtTheBordersOfChainsOnly) {
  EXPECT_THAT(OperatorsOf(std::string("input x: float32[1,16,8,8]\n") + kWeights +
                          "c = Conv(x, w, b) {pads=[1,1,1,1]}\nr = Relu(c)\n"
                          "d = Conv(r, v, b) {pads=[1,1,1,1]}\ny = Relu(d)\noutput y\n"),
              ElementsAre("ReorderInput", "Conv", "Conv", "ReorderOutput"));
}

TEST(FileKernelsTest, ASumIsPartOfTheConvolutionBeforeIt) {
  EXPECT_THAT(OperatorsOf(std::string("input x: float32[1,16,8,8]\n") + kWeights +
                          "c = Conv(x, w, b) {pads=[1,1,1,1]}\n"
                          "d = Conv(c, v, b) {pads=[1,1,1,1]}\ns = Add(d, c)\ny = Relu(s)\n"
                          "output y\n"),
              ElementsAre("ReorderInput", "Conv", "Conv", "ReorderOutput"));
}

TEST(FileKernelsTest, WithFewChannelsAGroupNothingIsBlocked) {
  EXPECT_THAT(OperatorsOf("input x: float32[1,16,8,8]\nconst w: float32[16,4,3,3] = random(1)\n"
                          "c = Conv(x, w) {group=4, pads=[1,1,1,1]}\ny = Relu(c)\noutput y\n"),
              ElementsAre("FusedConv"));
}

TEST(FileKernelsTest, APoolingStaysBlocked) {
  const std::string conv = std::string("input x: float32[1,16,8,8]\n") + kWeights +
                           "c = Conv(x, w, b) {pads=[1,1,1,1]}\n";
  EXPECT_THAT(OperatorsOf(conv + "y = GlobalAveragePool(c)\noutput y\n"),
              ElementsAre("ReorderInput", "Conv", "GlobalAveragePool", "ReorderOutput"));
  EXPECT_THAT(OperatorsOf(conv + "y = ReduceMean(c) {axes=[2,3]}\noutput y\n"),
              ElementsAre("ReorderInput", "Conv", "ReorderOutput", "ReduceMean"));
}

TEST(FileKernelsTest, ProductsTakeBiasesTransposesAndFactors) {
  EXPECT_THAT(OperatorsOf("input x: float32[4,8]\nconst w: float32[8,8] = random(1)\n"
                          "const b: float32[8] = random(2)\nm = MatMul(x, w)\ny = Add(m, b)\n"
                          "output y\n"),
              ElementsAre("Gemm"));
  EXPECT_THAT(OperatorsOf("input x: float32[2,4,8]\ninput z: float32[2,4,8]\n"
                          "const s: float32[] = [0.125]\nt = Transpose(z) {perm=[0,2,1]}\n"
                          "m = MatMul(x, t)\ny = Mul(m, s)\noutput y\n"),
              ElementsAre("FusedMatMul"));
}

TEST(FileKernelsTest, WhatIsWrittenOutIsRecognized) {
  EXPECT_THAT(
      OperatorsOf("input x: float32[2,4,8]\nconst r: float32[] = [1.4142135381698608]\n"
                  "const one: float32[] = [1]\nconst half: float32[] = [0.5]\nu = Div(x, r)\n"
                  "f = Erf(u)\ng = Add(f, one)\np = Mul(x, g)\ny = Mul(p, half)\noutput y\n"),
      ElementsAre("Gelu"));
  EXPECT_THAT(OperatorsOf("input x: float32[2,4,8]\ninput r: float32[2,4,8]\n"
                          "const w: float32[8] = random(1)\nconst b: float32[8] = random(2)\n"
                          "s = Add(x, r)\ny = LayerNormalization(s, w, b)\noutput y\n"),
              ElementsAre("SkipLayerNormalization"));
}

// A rewrite that ONNX Runtime undoes leaves the same kernels.
TEST(FileKernelsTest, EqualNodesHaveEqualSpecs) {
  const std::string head = "input x: float32[2,4,8]\n";
  const auto specs = [&](const std::string& body) {
    const absl::StatusOr<FileKernels> kernels = KernelsOf(GraphOf({"g", head + body}));
    EXPECT_THAT(kernels, quotient::testing::IsOk());
    std::set<std::string> keys;
    for (const FileKernel& kernel : kernels->kernels) keys.insert(KernelKey(*kernel.spec));
    return keys;
  };
  const auto direct = specs("y = Softmax(x) {axis=1}\noutput y\n");
  EXPECT_EQ(direct, specs("t = Identity(x)\ny = Softmax(t) {axis=1}\noutput y\n"));
  EXPECT_NE(direct, specs("y = Softmax(x) {axis=2}\noutput y\n"));
}

TEST(FileKernelsTest, KernelsAreCalledByTheirValues) {
  const absl::StatusOr<FileKernels> kernels =
      KernelsOf(GraphOf({"g", std::string("input x: float32[1,16,8,8]\n") + kWeights +
                                  "c = Conv(x, w, b) {pads=[1,1,1,1]}\nr = Relu(c)\n"
                                  "y = Conv(r, v, b) {pads=[1,1,1,1]}\noutput y\n"}));
  ASSERT_OK(kernels.status());
  ASSERT_EQ(kernels->kernels.size(), 4u);
  EXPECT_THAT(kernels->kernels[1].names, Contains("r"));
  EXPECT_THAT(kernels->kernels[3].names, Contains("out0"));
}

// Denormal numbers are slow, so kernels that read them have times of their own.
TEST(FileKernelsTest, DenormalOperandsArePartOfASpec) {
  const model::Graph graph = GraphOf({"g",
                                      "input x: float32[64,64]\n"
                                      "const w: float32[64,64] = random(1)\n"
                                      "y = MatMul(x, w)\noutput y\n"});
  ASSERT_OK_AND_ASSIGN(const WrittenGraph written, WriteGraph(graph));
  const auto key_for = [&](float value) {
    const std::vector<float> values(64 * 64, value);
    const auto kernels = SharedBackend().KernelsOfFile(
        written.file, written.values, {model::Tensor::Floats({64, 64}, values)}, 0);
    EXPECT_THAT(kernels, quotient::testing::IsOk());
    return KernelKey(*kernels->kernels[0].spec);
  };
  EXPECT_NE(key_for(1), key_for(1e-40F));
  EXPECT_EQ(key_for(1), key_for(2));
}

// Each kernel is run twice: with the operands of the file and without them.
TEST(FileKernelsTest, AllKernelsOfTheCasesRun) {
  std::set<std::string> seen;
  for (const GraphCase& test_case : AllGraphCases()) {
    const model::Graph graph = GraphOf(test_case);
    if (std::ranges::any_of(graph.nodes, &model::Node::is_opaque)) continue;
    absl::StatusOr<FileKernels> kernels = KernelsOf(graph);
    ASSERT_OK(kernels.status()) << test_case.name;
    const auto run_all = [&](const char* operands) {
      for (const FileKernel& kernel : kernels->kernels) {
        ASSERT_TRUE(kernel.spec.has_value()) << test_case.name << " " << kernel.op;
        if (!seen.insert(operands + KernelKey(*kernel.spec)).second) continue;
        const auto compiled = SharedBackend().Compile(*kernel.spec);
        ASSERT_OK(compiled.status()) << test_case.name << " " << KernelKey(*kernel.spec);
        EXPECT_OK((*compiled)[0]->Run(3)) << test_case.name << " " << KernelKey(*kernel.spec);
      }
    };
    run_all("own ");
    kernels->operands.reset();
    run_all("random ");
  }
  EXPECT_GT(seen.size(), 200u);
}

TEST(FileKernelsTest, TheProfilerCallsThemByTheSameLabels) {
  const model::Graph graph =
      GraphOf({"g", std::string("input x: float32[1,16,8,8]\n") + kWeights +
                        "c = Conv(x, w, b) {pads=[1,1,1,1]}\nr = Sigmoid(c)\ny = Exp(r)\n"
                        "output y\n"});
  ASSERT_OK_AND_ASSIGN(const WrittenGraph written, WriteGraph(graph));
  const std::vector<model::Tensor> inputs = RandomInputs(graph, graph.inputs, 1);
  ASSERT_OK_AND_ASSIGN(const FileKernels kernels,
                       SharedBackend().KernelsOfFile(written.file, written.values, inputs, 0));
  ASSERT_OK_AND_ASSIGN(const auto executable,
                       SharedBackend().CompileFile(written.file, written.values));
  ASSERT_OK(executable->SetInputs(inputs));
  for (int run = 0; run < 3; ++run) ASSERT_OK(executable->RunRecorded());
  ASSERT_OK_AND_ASSIGN(const std::vector<RecordedKernel> recorded, executable->TakeRecords());
  ASSERT_EQ(recorded.size(), kernels.kernels.size());
  for (size_t i = 0; i < recorded.size(); ++i) {
    EXPECT_EQ(recorded[i].label, kernels.kernels[i].label);
    EXPECT_EQ(recorded[i].us.size(), 3u);
  }
  EXPECT_FALSE(executable->TakeRecords().ok()) << "they were taken";
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
