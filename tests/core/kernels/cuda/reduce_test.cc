// GPU kernels that reduce along axes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/programs.h"
#include "tests/core/kernels/cuda/source_checks.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

KernelSpec Reduce(Rng& rng, absl::string_view op, DType dtype, const std::vector<int64_t>& dims,
                  model::Ints axes, bool keep_dims) {
  KernelSpec spec;
  spec.op = std::string(op);
  spec.inputs = {RandomOperand(rng, dtype, dims)};
  std::sort(axes.begin(), axes.end());
  const bool arg = op == "ArgMax" || op == "ArgMin";
  if (arg) {
    axes.resize(1);
    spec.attributes.Set("axis", axes[0]);
  } else {
    spec.attributes.Set("axes", axes);
  }
  if (!keep_dims) spec.attributes.Set("keepdims", int64_t{0});
  std::vector<int64_t> left;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), int64_t(i)) != axes.end();
    if (!reduced) left.push_back(dims[i]);
    if (reduced && keep_dims) left.push_back(1);
  }
  spec.outputs = {RandomOperand(rng, arg ? DType::kInt64 : dtype, left)};
  return spec;
}

model::Ints RandomAxes(Rng& rng, int rank) {
  model::Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (rng.Below(2) == 0) axes.push_back(i);
  }
  if (axes.empty()) axes.push_back(static_cast<int64_t>(rng.Below(rank)));
  return axes;
}

const std::vector<std::string>& Ops() {
  static const auto& ops = *new std::vector<std::string>{
      "ReduceSum", "ReduceMean",      "ReduceMax",    "ReduceMin",       "ReduceProd", "ReduceL1",
      "ReduceL2",  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ArgMax",     "ArgMin"};
  return ops;
}

TEST(ReduceTest, AlongAnyAxesOfFloats) {
  Rng rng(1);
  std::vector<KernelSpec> specs;
  for (const std::string& op : Ops()) {
    for (int i = 0; i < 7; ++i) {
      const int rank = 1 + static_cast<int>(rng.Below(5));
      const DType dtype =
          Choose<DType>(rng, {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBfloat16});
      specs.push_back(
          Reduce(rng, op, dtype, RandomDims(rng, rank), RandomAxes(rng, rank), rng.Below(2) == 0));
      if (rng.Below(2) == 0 && op[0] == 'A') {
        specs.back().attributes.Set("select_last_index", int64_t{1});
      }
    }
  }
  ExpectSourceKernelsAgree(specs, "reduce");
}

TEST(ReduceTest, OfIntegersAndBools) {
  Rng rng(2);
  std::vector<KernelSpec> specs;
  for (const std::string& op : Ops()) {
    // Logarithms of integers are not what anybody computes.
    if (op == "ReduceLogSum" || op == "ReduceLogSumExp") continue;
    for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kUint8, DType::kFloat64}) {
      const int rank = 1 + static_cast<int>(rng.Below(3));
      specs.push_back(Reduce(rng, op, dtype, RandomDims(rng, rank), RandomAxes(rng, rank), true));
    }
  }
  specs.push_back(Reduce(rng, "ReduceMax", DType::kBool, {3, 50}, {1}, true));
  specs.push_back(Reduce(rng, "ReduceMin", DType::kBool, {3, 50}, {0}, true));
  ExpectSourceKernelsAgree(specs, "reduce");
}

TEST(ReduceTest, FewOutputsAreReducedInTwoStages) {
  Rng rng(3);
  std::vector<KernelSpec> specs;
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp", "ArgMax"}) {
    specs.push_back(Reduce(rng, op, DType::kFloat32, {20001}, {0}, false));
    specs.push_back(Reduce(rng, op, DType::kFloat16, {3, 40000}, {1}, true));
    specs.push_back(Reduce(rng, op, DType::kFloat32, {1000, 33}, {0}, true));
    specs.push_back(Reduce(rng, op, DType::kInt64, {2, 400, 7}, {1}, false));
    if (std::string(op) == "ReduceLogSumExp") specs.pop_back();
  }
  for (const KernelSpec& spec : specs) EXPECT_EQ(MakeReduceProgram(spec)->launches.size(), 2u);
  ExpectSourceKernelsAgree(specs, "reduce");
}

TEST(ReduceTest, PoolsOverWholeImages) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16"}) {
    for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
      for (const char* dims : {"[2,70,7,7]", "[1,8,33,32]", "[3,5,11]"}) {
        for (KernelSpec spec :
             SpecsOf(absl::StrCat("input x: ", type, dims, "\ny = ", op, "(x)\noutput y\n"))) {
          specs.push_back(spec);
          spec.inputs[0].layout = Layout::kChannelsLast;
          specs.push_back(spec);
        }
      }
    }
  }
  ExpectSourceKernelsAgree(specs, "reduce");
}

}  // namespace
}  // namespace quotient::kernels::cuda
