#include "core/explain/kernel_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/explain/run_fixture.h"

namespace quotient::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kConv[] = "ort:com.microsoft.nchwc:Conv";

// The operators of the nodes of each kernel.
std::vector<std::vector<std::string>> NodesOf(const std::string& body,
                                              const std::vector<MadeKernel>& kernels) {
  const model::Graph graph = GraphOf(body);
  const KernelMap map = MapKernels(graph, CostOf(graph, kernels));
  std::vector<std::vector<std::string>> nodes;
  for (const std::vector<model::NodeId>& of_kernel : map.nodes) {
    std::vector<std::string>& ops = nodes.emplace_back();
    for (const model::NodeId id : of_kernel) ops.push_back(graph.node(id).op);
  }
  return nodes;
}

constexpr char kHead[] = "input x: float32[1,16,8,8]\n const w: float32[16,16,1,1] = random(1)\n";

TEST(KernelMapTest, AKernelHasTheNodesBackToTheOneThatItIsNamedAfter) {
  EXPECT_THAT(NodesOf(std::string(kHead) + "a = Conv(x, w)\n b = Relu(a)\n c = Conv(b, w)\n "
                                           "d = Tanh(c)\n output d",
                      {{kConv, {"b"}}, {kConv, {"d"}}}),
              ElementsAre(ElementsAre("Conv", "Relu"), ElementsAre("Conv", "Tanh")));
}

TEST(KernelMapTest, ASumAndWhatIsBehindItBelongToTheLaterConv) {
  EXPECT_THAT(
      NodesOf(std::string(kHead) + "a = Conv(x, w)\n b = Conv(a, w)\n s = Add(a, b)\n "
                                   "r = Relu(s)\n t = Conv(r, w)\n u = Add(r, t)\n output u",
              {{kConv, {"a"}}, {kConv, {"b"}}, {kConv, {"t"}}}),
      ElementsAre(ElementsAre("Conv"), ElementsAre("Conv", "Add", "Relu"),
                  ElementsAre("Conv", "Add")));
}

TEST(KernelMapTest, AFunctionThatWasWrittenOutIsOneKernel) {
  EXPECT_THAT(NodesOf("input x: float32[4,8]\n const r: float32[] = [1.41]\n "
                      "const one: float32[] = [1]\n const h: float32[] = [0.5]\n u = Div(x, r)\n "
                      "f = Erf(u)\n g = Add(f, one)\n p = Mul(x, g)\n y = Mul(p, h)\n output y",
                      {{"ort:com.microsoft:Gelu", {"y"}}}),
              ElementsAre(ElementsAre("Div", "Erf", "Add", "Mul", "Mul")));
}

// What stands before it has a kernel of its own, whatever kernels there are that are not known.
TEST(KernelMapTest, AFunctionEndsWhereAnotherKernelBegins) {
  EXPECT_THAT(NodesOf("input x: float32[4,8]\n input z: float32[4,8]\n "
                      "const r: float32[] = [1.41]\n const one: float32[] = [1]\n "
                      "const h: float32[] = [0.5]\n s = Add(x, z)\n u = Div(s, r)\n f = Erf(u)\n "
                      "g = Add(f, one)\n p = Mul(s, g)\n y = Mul(p, h)\n n = Neg(s)\n output y\n "
                      "output n",
                      {{"ort::Add", {"s"}},
                       {"ort:com.microsoft:Gelu", {"y"}},
                       {"ort::Neg", {"n"}},
                       {"ort::Mul", {}}}),
              ElementsAre(ElementsAre("Add"), ElementsAre("Div", "Erf", "Add", "Mul", "Mul"),
                          ElementsAre("Neg"), IsEmpty()));
}

// A node that no kernel is known to compute is in none that it could not be part of.
TEST(KernelMapTest, OnlyProductsTakeWhatIsBehindThem) {
  EXPECT_THAT(NodesOf("input x: float32[4,8]\n a = Neg(x)\n b = Sqrt(a)\n c = Exp(b)\n "
                      "d = Tanh(b)\n output c\n output d",
                      {{"ort::Neg", {"a"}}, {"ort::Exp", {"c"}}, {"ort::Tanh", {"d"}}}),
              ElementsAre(ElementsAre("Neg"), ElementsAre("Exp"), ElementsAre("Tanh")));
}

TEST(KernelMapTest, ChangesOfLayoutComputeNothing) {
  EXPECT_THAT(NodesOf(std::string(kHead) + "a = Conv(x, w)\n b = Relu(a)\n output b",
                      {{"ort:com.microsoft.nchwc:ReorderInput", {}},
                       {kConv, {"b"}},
                       {"ort:com.microsoft.nchwc:ReorderOutput", {"b"}}}),
              ElementsAre(IsEmpty(), ElementsAre("Conv", "Relu"), IsEmpty()));
}

// A kernel whose name tells nothing may be any node of its operator.
TEST(KernelMapTest, NoNodeIsGuessedThatMayBeAKernelOfItsOwn) {
  EXPECT_THAT(NodesOf(std::string(kHead) + "a = Conv(x, w)\n b = Relu(a)\n output b",
                      {{kConv, {"a"}}, {"ort::Relu", {}}}),
              ElementsAre(ElementsAre("Conv"), IsEmpty()));
}

}  // namespace
}  // namespace quotient::explain
