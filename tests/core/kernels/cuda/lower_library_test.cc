// What cuDNN is asked for beside our own kernels: pools, normalizations, reductions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/core/kernels/cuda/way_checks.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::ElementsAre;

// The one kernel of a graph that makes `y` of values of type FLOAT.
KernelSpec SpecOf(absl::string_view lines, absl::string_view type) {
  const std::string body =
      absl::StrCat(absl::StrReplaceAll(lines, {{"FLOAT", type}}), "\noutput y\n");
  const std::vector<KernelSpec> specs = NativeSpecsOf(body);
  EXPECT_EQ(specs.size(), 1u) << body;
  return specs.at(0);
}

// Expects those programs, and that all are right, in each type.
void ExpectBoth(const std::string& ours, const std::vector<std::string>& graphs,
                const std::vector<const char*>& types = {"float32", "float16", "bfloat16"}) {
  std::vector<KernelSpec> specs;
  for (const std::string& lines : graphs) {
    for (const char* type : types) {
      specs.push_back(SpecOf(lines, type));
      EXPECT_THAT(ProgramNames(specs.back()), ElementsAre(ours, "dnn")) << lines;
    }
  }
  ExpectEveryWayAgrees(specs);
}

void ExpectOnlyOurs(const std::string& ours, const std::vector<std::string>& graphs,
                    const char* type = "float32") {
  for (const std::string& lines : graphs) {
    EXPECT_THAT(ProgramNames(SpecOf(lines, type)), ElementsAre(ours)) << lines;
  }
}

std::string PoolLines(absl::string_view image, absl::string_view op, absl::string_view window) {
  return absl::StrCat("input x: FLOAT[", image, "]\ny = ", op, "(x) {", window, "}");
}

TEST(LowerLibraryTest, Pools) {
  std::vector<std::string> graphs;
  for (const char* op : {"MaxPool", "AveragePool"}) {
    graphs.push_back(PoolLines("2,5,9,8", op, "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]"));
    graphs.push_back(PoolLines("1,4,8,7", op, "kernel_shape=[2,3], pads=[0,1,1,2]"));
    graphs.push_back(PoolLines("1,3,8,8", op, "kernel_shape=[2,2], strides=[2,2], ceil_mode=1"));
    graphs.push_back(PoolLines("1,3,7,9", op, "kernel_shape=[3,2], auto_pad=\"SAME_LOWER\""));
    graphs.push_back(PoolLines("2,3,15", op, "kernel_shape=[4], strides=[3], pads=[1,2]"));
    graphs.push_back(PoolLines("1,2,5,6,4", op, "kernel_shape=[2,3,2], strides=[1,2,2]"));
  }
  graphs.push_back(PoolLines("2,5,9,8", "AveragePool",
                             "kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1"));
  ExpectBoth("pool", graphs);
}

TEST(LowerLibraryTest, PoolsThatAreOnlyOnnxs) {
  ExpectOnlyOurs(
      "pool", {PoolLines("1,4,10,10", "MaxPool", "kernel_shape=[3,3], dilations=[2,1]"),
               PoolLines("1,4,10,10", "MaxPool", "kernel_shape=[3,3], strides=[2,2], ceil_mode=1"),
               PoolLines("1,4,10,10", "AveragePool",
                         "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2], ceil_mode=1, "
                         "count_include_pad=1")});
}

TEST(LowerLibraryTest, Normalizations) {
  ExpectBoth("normalize",
             {"input x: FLOAT[3,4,24]\nconst s: FLOAT[24] = random(1)\n"
              "const b: FLOAT[24] = random(2)\ny = LayerNormalization(x, s, b) {epsilon=0.01}",
              "input x: FLOAT[3,4,24]\nconst s: FLOAT[24] = random(1)\n"
              "y = LayerNormalization(x, s)",
              "input x: FLOAT[3,4,24]\ninput s: FLOAT[1,4,24]\ninput b: FLOAT[4,24]\n"
              "y = LayerNormalization(x, s, b) {axis=1}",
              "input x: FLOAT[7,33]\nconst s: FLOAT[33] = random(1)\n"
              "y = RMSNormalization(x, s) {epsilon=0.001}"});
  ExpectOnlyOurs("normalize", {"input x: FLOAT[8,8]\nconst s: FLOAT[8,1] = random(1)\n"
                               "y = LayerNormalization(x, s)",
                               "input x: FLOAT[4,8]\nconst s: FLOAT[1] = random(1)\n"
                               "y = LayerNormalization(x, s)"});
}

TEST(LowerLibraryTest, Reductions) {
  std::vector<std::string> graphs;
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin"}) {
    graphs.push_back(absl::StrCat("input x: FLOAT[3,5,18]\nconst axes: int64[1] = [2]\ny = ", op,
                                  "(x, axes) {keepdims=0}"));
    graphs.push_back(absl::StrCat("input x: FLOAT[6,5,8]\nconst axes: int64[2] = [1,-1]\ny = ", op,
                                  "(x, axes)"));
    graphs.push_back(absl::StrCat("input x: FLOAT[5,9]\ny = ", op, "(x)"));
  }
  ExpectBoth("reduce", graphs, {"float32"});
  ExpectOnlyOurs("reduce", {graphs[0]}, "float16");
  ExpectOnlyOurs("reduce",
                 {"input x: FLOAT[3,5,18]\nconst axes: int64[1] = [1]\ny = ReduceSum(x, axes)",
                  "input x: FLOAT[3,5,18]\nconst axes: int64[1] = [2]\ny = ReduceMean(x, axes)"});
}

// The channels of images that lie channels last.
TEST(LowerLibraryTest, ReductionsOfChannels) {
  for (const bool keeps_dims : {true, false}) {
    KernelSpec spec = SpecOf(absl::StrCat("input x: FLOAT[2,6,4,5]\nconst axes: int64[1] = [1]\n"
                                          "y = ReduceSum(x, axes) {keepdims=",
                                          keeps_dims ? 1 : 0, "}"),
                             "float32");
    spec.inputs[0].layout = Layout::kPlain;
    spec.outputs[0].layout = Layout::kPlain;
    EXPECT_THAT(ProgramNames(spec), ElementsAre("reduce"));
    spec.inputs[0].layout = Layout::kChannelsLast;
    EXPECT_THAT(ProgramNames(spec), ElementsAre("reduce", "dnn"));
    ExpectEveryWayAgrees({spec});
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
