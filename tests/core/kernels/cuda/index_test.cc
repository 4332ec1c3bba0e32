// GPU kernels that compute where to read or write: Gather and its like, ScatterND, Pad, Resize,
// CumSum, Trilu.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernels/cuda/source/programs.h"
#include "tests/core/kernels/cuda/source_checks.h"
#include "tests/support/cuda/program_runner.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::Tensor;

// The kernels of graphs of one node, `y = <node>`, whose input x has each of the types.
std::vector<KernelSpec> Nodes(const std::vector<std::string>& nodes,
                              const std::vector<std::string>& types, const std::string& dims,
                              const std::string& more_inputs = "") {
  std::vector<KernelSpec> specs;
  for (const std::string& node : nodes) {
    for (const std::string& type : types) {
      for (const KernelSpec& spec : SpecsOf(absl::StrCat("input x: ", type, dims, "\n", more_inputs,
                                                         "y = ", node, "\noutput y\n"))) {
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

std::vector<KernelSpec> WithChannelsLast(std::vector<KernelSpec> specs) {
  const size_t count = specs.size();
  for (size_t i = 0; i < count; ++i) {
    KernelSpec spec = specs[i];
    if (!model::IsFloat(spec.inputs[0].type.dtype)) continue;
    spec.inputs[0].layout = spec.outputs[0].layout = Layout::kChannelsLast;
    specs.push_back(spec);
  }
  return specs;
}

TEST(GatherTest, AlongAnyAxisWithNegativeIndices) {
  std::vector<KernelSpec> specs;
  for (const char* index : {"int64", "int32"}) {
    for (const KernelSpec& spec :
         Nodes({"Gather(x, i) {axis=0}", "Gather(x, i) {axis=1}", "Gather(x, i) {axis=2}"},
               {"float32", "float16", "int64", "bool"}, "[5,3,16]",
               absl::StrCat("input i: ", index, "[2,7]\n"))) {
      specs.push_back(spec);
    }
  }
  for (const KernelSpec& spec :
       Nodes({"Gather(x, i) {axis=0}"}, {"float32"}, "[9]", "input i: int64[]\n")) {
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "gather");
}

TEST(GatherTest, ElementsAndTuples) {
  std::vector<KernelSpec> specs;
  for (const KernelSpec& spec :
       Nodes({"GatherElements(x, i) {axis=0}", "GatherElements(x, i) {axis=1}",
              "GatherElements(x, i) {axis=2}"},
             {"float32", "bfloat16"}, "[4,3,5]", "input i: int64[3,3,4]\n")) {
    specs.push_back(spec);
  }
  for (const KernelSpec& spec : Nodes({"GatherND(x, i)", "GatherND(x, i) {batch_dims=1}"},
                                      {"float32", "int32"}, "[4,3,5]", "input i: int64[4,6,2]\n")) {
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "gather");
}

TEST(GatherTest, TuplesOfBlocksThatAreReadInPacks) {
  ExpectSourceKernelsAgree(Nodes({"GatherND(x, i)"}, {"float32", "float16", "int64"}, "[4,3,2,8]",
                                 "input i: int64[7,2]\n"),
                           "gather");
}

TEST(GatherTest, IndicesOutOfRangeFetchZero) {
  const std::vector<KernelSpec> specs =
      Nodes({"Gather(x, i) {axis=0}"}, {"float32"}, "[3,2]", "input i: int64[4]\n");
  const Program program = *MakeGatherProgram(specs[0]);
  ASSERT_OK_AND_ASSIGN(const auto kernels, EmulateAll(std::span(&program, 1)));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> i = {3, -4, int64_t{1} << 40, -1};
  const Tensor operands[] = {Tensor::Floats({3, 2}, x), Tensor::Ints({4}, i)};
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunProgram(specs[0], program, kernels[0], operands));
  EXPECT_THAT(outputs[0].AsDoubles(), ::testing::ElementsAre(0, 0, 0, 0, 0, 0, 5, 6));
}

// With indices that are there, each block named once.
SpecCase Scatter(const std::string& type, const std::string& dims, const std::string& updates,
                 std::vector<int64_t> index_dims, const std::vector<int64_t>& indices) {
  const KernelSpec spec = SpecsOf(absl::StrCat("input x: ", type, dims, "\ninput i: int64[",
                                               absl::StrJoin(index_dims, ","), "]\ninput u: ", type,
                                               updates, "\ny = ScatterND(x, i, u)\noutput y\n"))
                              .at(0);
  std::vector<Tensor> operands = RandomOperands(spec, 1);
  operands[1] = Tensor::Ints(std::move(index_dims), indices);
  return {spec, operands};
}

TEST(ScatterTest, WritesTheBlocksThatAreNamed) {
  std::vector<SpecCase> cases;
  for (const char* type : {"float32", "float16", "int64", "bool"}) {
    cases.push_back(Scatter(type, "[5,3,16]", "[2,2,16]", {2, 2, 2}, {4, 0, -5, 2, 1, 1, 3, -1}));
    cases.push_back(Scatter(type, "[7,3]", "[3,3]", {3, 1}, {6, 0, -3}));
    cases.push_back(Scatter(type, "[3,5]", "[4]", {4, 2}, {0, 0, 2, 4, 1, -1, -2, 2}));
    cases.push_back(Scatter(type, "[3,5]", "[0]", {0, 2}, {}));
  }
  ExpectSourceKernelsAgree(cases, "scatter");
}

TEST(ScatterTest, IndicesOutOfRangeWriteNothing) {
  const auto [spec, operands] =
      Scatter("float32", "[2,2]", "[3,2]", {3, 1}, {2, int64_t{-1} << 40, 1});
  const Program program = *MakeScatterProgram(spec);
  ASSERT_OK_AND_ASSIGN(const auto kernels, EmulateAll(std::span(&program, 1)));
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunProgram(spec, program, kernels[0], operands));
  const std::vector<double> x = operands[0].AsDoubles(), updates = operands[2].AsDoubles();
  EXPECT_THAT(outputs[0].AsDoubles(), ::testing::ElementsAre(x[0], x[1], updates[4], updates[5]));
}

TEST(ScatterTest, ReductionsAreLeftToTheReference) {
  const std::vector<KernelSpec> specs =
      Nodes({"ScatterND(x, i, u) {reduction=\"add\"}"}, {"float32"}, "[5]",
            "input i: int64[3,1]\ninput u: float32[3]\n");
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_FALSE(MakeSourceProgram(specs[0]).has_value());
}

TEST(PadTest, EveryMode) {
  ExpectSourceKernelsAgree(
      WithChannelsLast(Nodes({"Pad(x) {pads=[0,1,2,0,0,3,0,1]}",
                              "Pad(x) {pads=[0,1,2,0,0,3,0,1], constant_value=-1.5}",
                              "Pad(x) {pads=[0,-1,2,1,0,1,-2,-1], constant_value=3.0}",
                              "Pad(x) {pads=[0,1,3,9,0,2,4,1], mode=\"reflect\"}",
                              "Pad(x) {pads=[1,-1,3,2,0,1,4,1], mode=\"edge\"}",
                              "Pad(x) {pads=[0,1,3,9,0,2,4,-1], mode=\"wrap\"}"},
                             {"float32", "float16", "int32"}, "[1,3,5,6]")),
      "pad");
}

TEST(PadTest, BordersOfDoublesAreExact) {
  ExpectSourceKernelsAgree(Nodes({"Pad(x) {pads=[1,2], constant_value=0.1}"}, {"float64"}, "[3]"),
                           "pad");
}

TEST(PadTest, ReadsInPacksAlongAnAxisThatStays) {
  ExpectSourceKernelsAgree(
      WithChannelsLast(Nodes(
          {"Pad(x) {pads=[0,0,1,0,0,0,2,0], constant_value=-1.5}",
           "Pad(x) {pads=[0,0,1,1,0,0,2,0], mode=\"reflect\"}", "Pad(x) {pads=[0,1,-1,0,1,0,0,0]}",
           "Pad(x) {pads=[0,0,0,1,0,0,0,-1]}", "Pad(x) {pads=[0,1,0,0,0,-1,0,0]}"},
          {"float32", "float16", "int32"}, "[2,8,5,16]")),
      "pad");
}

TEST(ResizeTest, NearestAndLinear) {
  const std::vector<std::string> nodes = {
      "Resize(x) {scales=[1.0,1.0,2.0,2.0], mode=\"nearest\"}",
      "Resize(x) {sizes=[2,8,3,17], mode=\"nearest\", nearest_mode=\"floor\", "
      "coordinate_transformation_mode=\"asymmetric\"}",
      "Resize(x) {sizes=[2,8,11,4], mode=\"nearest\", "
      "coordinate_transformation_mode=\"align_corners\"}",
      "Resize(x) {scales=[1.0,1.0,2.0,2.0], mode=\"linear\"}",
      "Resize(x) {sizes=[2,8,3,17], mode=\"linear\", "
      "coordinate_transformation_mode=\"align_corners\"}",
      "Resize(x) {sizes=[2,8,11,4], mode=\"linear\", "
      "coordinate_transformation_mode=\"pytorch_half_pixel\"}",
      "Resize(x) {sizes=[2,5,11,9], mode=\"linear\"}",
  };
  ExpectSourceKernelsAgree(
      WithChannelsLast(Nodes(nodes, {"float32", "float16", "bfloat16"}, "[2,8,5,7]")), "resize");
}

TEST(ResizeTest, CropsAreLeftToTheReference) {
  const std::vector<KernelSpec> specs =
      Nodes({"Resize(x) {sizes=[1,1,4,4], roi=[0.0,0.0,0.2,0.2,1.0,1.0,0.8,0.8], "
             "coordinate_transformation_mode=\"tf_crop_and_resize\"}"},
            {"float32"}, "[1,1,6,6]");
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_FALSE(MakeSourceProgram(specs[0]).has_value());
}

TEST(LineTest, CumSum) {
  ExpectSourceKernelsAgree(
      Nodes({"CumSum(x) {axis=0}", "CumSum(x) {axis=1, exclusive=1}",
             "CumSum(x) {axis=2, reverse=1}", "CumSum(x) {axis=2, reverse=1, exclusive=1}"},
            {"float32", "float16", "int64", "int32"}, "[3,5,40]"),
      "cumsum");
}

TEST(LineTest, CumSumOfFewLongLines) {
  std::vector<KernelSpec> specs =
      Nodes({"CumSum(x) {axis=1}", "CumSum(x) {axis=1, exclusive=1, reverse=1}"},
            {"float32", "bfloat16", "int64"}, "[3,601]");
  for (const KernelSpec& spec :
       Nodes({"CumSum(x) {axis=0, exclusive=1}", "CumSum(x) {axis=0, reverse=1}"},
             {"float32", "int32"}, "[300,2]")) {
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "cumsum");
}

TEST(LineTest, Trilu) {
  ExpectSourceKernelsAgree(
      Nodes({"Trilu(x)", "Trilu(x) {k=2}", "Trilu(x) {upper=0, k=-1}", "Trilu(x) {upper=0, k=100}"},
            {"float32", "float16", "int64", "bool"}, "[2,7,9]"),
      "trilu");
}

}  // namespace
}  // namespace quotient::kernels::cuda
