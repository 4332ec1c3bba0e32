// What is known of ONNX Runtime's fusions and blocked layouts, compared with what the installed
// library makes of small graphs.

#include "core/kernels/ort_fusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

const Backend& SharedBackend() {
  static const auto& backend =
      *new absl::StatusOr<std::unique_ptr<Backend>>(NewBackend(kCpuDevice, 1, {}));
  EXPECT_THAT(backend, quotient::testing::IsOk());
  return **backend;
}

// How many kernels of each kind there are. A contraction that a library calls by another name once
// something is fused behind it is the same kind.
using Kinds = std::map<std::string, int>;

void Count(absl::string_view op, Kinds& kinds) {
  if (op == "Reshape" || op == "Shape" || op == "Unsqueeze" || op == "Squeeze") return;
  if (absl::StartsWith(op, "Reorder")) op = "Reorder";
  if (op == "FusedConv") op = "Conv";
  if (op == "Gemm" || op == "FusedGemm" || op == "FusedMatMul") op = "MatMul";
  if (op == "Upsample") op = "Resize";
  ++kinds[std::string(op)];
}

Kinds Expected(const model::Graph& graph) {
  const auto groups = PartitionGraph(graph, SharedBackend().partition());
  EXPECT_THAT(groups, quotient::testing::IsOk());
  Kinds kinds;
  for (const KernelGroup& group : *groups) {
    if (!group.spec.free) Count(group.spec.op, kinds);
  }
  return kinds;
}

absl::StatusOr<Kinds> Found(const model::Graph& graph) {
  QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph written, WriteGraph(graph));
  QUOTIENT_ASSIGN_OR_RETURN(const FileKernels kernels,
                            SharedBackend().KernelsOfFile(written.file, written.values,
                                                          RandomInputs(graph, graph.inputs, 1), 0));
  Kinds kinds;
  for (const FileKernel& kernel : kernels.kernels) Count(kernel.op, kinds);
  return kinds;
}

// An Elu behind `y` is in no blocked layout, so that both have the last change of layout.
void ExpectAsFound(const std::string& body) {
  const model::Graph graph = GraphOf({"g", absl::StrCat(body, "z = Elu(y)\noutput z\n")});
  const absl::StatusOr<Kinds> found = Found(graph);
  ASSERT_OK(found.status()) << body;
  EXPECT_EQ(Expected(graph), *found) << body;
}

std::string Head(int channels) {
  return absl::StrCat("input x: float32[1,", channels, ",8,8]\nconst w: float32[", channels, ",",
                      channels, ",3,3] = random(1)\nconst v: float32[", channels, ",", channels,
                      ",1,1] = random(2)\nconst f: float32[", channels,
                      ",1,1] = random(3)\nconst s: float32[] = [0.5]\nconst u: float32[1] = [2]\n"
                      "c = Conv(x, w) {pads=[1,1,1,1]}\n");
}
constexpr char kTail[] = "y = Conv(b, v)\n";

TEST(OrtFusionsTest, WhatAConvTakesBehindIt) {
  for (const char* node : {"Relu(c)",
                           "Sigmoid(c)",
                           "Tanh(c)",
                           "LeakyRelu(c) {alpha=0.1}",
                           "HardSigmoid(c)",
                           "HardSwish(c)",
                           "Clip(c) {min=0.0, max=6.0}",
                           "Mul(c, f)",
                           "Add(c, f)",
                           "Mul(c, s)",
                           "Mul(c, u)",
                           "Add(c, u)",
                           "Add(c, s)",
                           "Elu(c)",
                           "Softplus(c)",
                           "Neg(c)",
                           "Exp(c)",
                           "Gelu(c)",
                           "Selu(c)",
                           "Softsign(c)"}) {
    ExpectAsFound(absl::StrCat(Head(32), "b = ", node, "\n", kTail));
  }
}

TEST(OrtFusionsTest, WhatAConvTakesTogether) {
  const std::string vectors =
      "const m: float32[32] = random(4)\nconst q: float32[32] = random(5)\n"
      "const n: float32[32] = random(6)\nconst r: float32[32] = random(7)\n";
  for (const char* lines :
       {"d = BatchNormalization(c, m, q, n, r)\nb = Relu(d)\n",
        "d = Mul(c, f)\ne = Add(d, f)\nb = Relu(e)\n", "d = Relu(c)\nb = Sigmoid(d)\n",
        "d = Conv(c, v)\ne = Add(d, c)\nb = HardSigmoid(e)\n"}) {
    ExpectAsFound(absl::StrCat(vectors, Head(32), lines, kTail));
  }
}

TEST(OrtFusionsTest, WhatStaysInBlocks) {
  for (const int channels : {16, 24, 32}) {
    for (const char* lines :
         {"b = MaxPool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\n",
          "b = AveragePool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\n",
          "d = Conv(c, v)\nb = Add(d, c)\n", "d = Conv(c, v)\ne = Add(d, c)\nb = Relu(e)\n",
          "d = Conv(c, v)\nb = Mul(d, c)\n", "d = Conv(c, v)\nb = Sub(d, c)\n",
          "d = Conv(c, v)\ne = Relu(d)\nb = Add(e, c)\n", "d = Sigmoid(c)\nb = Mul(d, u)\n",

          "p = MaxPool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\nb = Add(p, f)\n",
          "p = MaxPool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\nb = Mul(p, s)\n",
          "b = Resize(c) {mode=\"nearest\", scales=[1.0,1.0,2.0,2.0], "
          "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}\n",
          "b = Resize(c) {mode=\"nearest\", scales=[1.0,1.0,2.0,2.0]}\n",
          "b = Transpose(c) {perm=[0,1,3,2]}\n"}) {
      ExpectAsFound(absl::StrCat(Head(channels), lines, kTail));
    }
  }
}

// Their own kernels have other names there, or none.
TEST(OrtFusionsTest, WhatStaysInBlocksUnderAnotherName) {
  for (const char* lines : {"p = MaxPool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\nb = Mul(p, f)\n",
                            "p = MaxPool(c) {kernel_shape=[3,3], pads=[1,1,1,1]}\nb = Mul(p, u)\n",
                            "b = Pad(c) {pads=[0,0,1,1,0,0,1,1]}\n",
                            "b = Resize(c) {mode=\"linear\", scales=[1.0,1.0,2.0,2.0]}\n"}) {
    const model::Graph graph =
        GraphOf({"g", absl::StrCat(Head(32), lines, kTail, "z = Elu(y)\noutput z\n")});
    ASSERT_OK_AND_ASSIGN(const Kinds found, Found(graph));
    EXPECT_EQ(Expected(graph).at("Reorder"), found.at("Reorder")) << lines;
  }
}

TEST(OrtFusionsTest, AConcatIsInBlocksIfItsPartsAreWholeBlocks) {
  for (const int channels : {16, 24, 32}) {
    ExpectAsFound(absl::StrCat(Head(channels), "const g: float32[16,", 2 * channels,
                               ",1,1] = random(8)\nd = Conv(c, v)\ne = Concat(c, d) {axis=1}\n",
                               "y = Conv(e, g)\n"));
  }
}

// Whether a Conv of these channels and groups is blocked.
TEST(OrtFusionsTest, WhichConvsAreInBlocks) {
  for (const auto& [inputs, filters, groups] :
       {std::array{3, 32, 1}, {8, 32, 1},   {15, 32, 1},  {16, 32, 1},  {18, 32, 1},
        {20, 32, 1},          {24, 32, 1},  {58, 32, 1},  {60, 32, 1},  {32, 10, 1},
        {32, 18, 1},          {12, 12, 12}, {18, 18, 18}, {24, 24, 24}, {32, 32, 32},
        {32, 64, 32},         {32, 32, 2},  {48, 48, 2},  {64, 64, 8},  {64, 128, 4}}) {
    ExpectAsFound(absl::StrCat("input x: float32[1,", inputs, ",8,8]\nconst w: float32[", filters,
                               ",", inputs / groups, ",3,3] = random(1)\n",
                               "y = Conv(x, w) {group=", groups, "}\n"));
  }
}

TEST(OrtFusionsTest, WhatAProductTakesBehindIt) {
  const std::string head =
      "const w: float32[16,24] = random(1)\nconst b: float32[24] = random(2)\n"
      "const s: float32[] = [0.5]\n";
  for (const char* input : {"input x: float32[8,16]\n", "input x: float32[2,8,16]\n"}) {
    for (const char* lines :
         {"m = MatMul(x, w)\ny = Add(m, b)\n", "m = MatMul(x, w)\ny = Mul(m, s)\n",
          "m = MatMul(x, w)\ny = Mul(m, b)\n", "m = MatMul(x, w)\ny = Relu(m)\n"}) {
      ExpectAsFound(absl::StrCat(input, head, lines));
    }
  }
  for (const char* lines :
       {"m = Gemm(x, w, b)\ny = Relu(m)\n", "m = Gemm(x, w, b)\ny = Softplus(m)\n",
        "m = Gemm(x, w, b)\ny = Erf(m)\n", "m = MatMul(x, w)\na = Add(m, b)\ny = Tanh(a)\n"}) {
    ExpectAsFound(absl::StrCat("input x: float32[8,16]\n", head, lines));
  }
}

TEST(OrtFusionsTest, ElementwiseNodesStayAlone) {
  ExpectAsFound(
      "input x: float32[1,16,8,8]\ninput p: float32[1,16,8,8]\na = Add(x, p)\ny = Relu(a)\n");
  ExpectAsFound("input x: float32[4,8]\ninput p: float32[4,8]\na = Sigmoid(x)\ny = Mul(a, p)\n");
  ExpectAsFound(
      "input x: float32[4,8]\nconst b: float32[8] = random(2)\na = Mul(x, b)\nc = Add(a, b)\n"
      "y = Exp(c)\n");
  ExpectAsFound(
      "input x: float32[1,4,8]\nconst w: float32[4,4,3] = random(1)\n"
      "c = Conv(x, w) {pads=[1,1]}\na = Relu(c)\ny = Add(a, x)\n");
}

TEST(OrtFusionsTest, AreFoundByName) {
  EXPECT_EQ(FindRuntimeFusions(OrtFusionsHere().name()), &OrtFusionsHere());
  EXPECT_EQ(FindRuntimeFusions("onnxruntime/8")->name(), "onnxruntime/8");
  EXPECT_EQ(FindRuntimeFusions("cpu"), nullptr);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
