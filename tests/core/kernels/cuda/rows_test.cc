// GPU kernels that normalize rows: Softmax, LayerNormalization and their like.

#include "core/kernels/cuda/source/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/programs.h"
#include "tests/core/kernels/cuda/source_checks.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

const std::vector<DType>& Types() {
  static const auto& types =
      *new std::vector<DType>{DType::kFloat32, DType::kFloat16, DType::kBfloat16};
  return types;
}

KernelSpec OneNode(absl::string_view op, const Operand& input) {
  KernelSpec spec;
  spec.op = std::string(op);
  spec.inputs = {input};
  spec.outputs = {input};
  return spec;
}

TEST(RowsTest, PlansCoverEveryRow) {
  for (const int64_t bytes : {2, 4}) {
    for (const int64_t length : {1, 7, 64, 100, 768, 1001, 4096, 50257, 300000}) {
      for (const int64_t rows : {1, 3, 1000, 100000}) {
        const RowPlan plan = PlanRows(rows, length, bytes);
        EXPECT_EQ(length % plan.pack, 0);
        EXPECT_GE(plan.steps * plan.group * plan.pack, length);
        EXPECT_GE(plan.grid() * (plan.block / plan.group), rows);
        EXPECT_LE(plan.block, 1024);
        if (plan.held) {
          EXPECT_LE(plan.steps * plan.pack, 32);
        }
      }
    }
  }
}

TEST(SoftmaxTest, AlongAnyAxisOfSmallTensors) {
  Rng rng(1);
  std::vector<KernelSpec> specs;
  for (int i = 0; i < 40; ++i) {
    const int rank = 1 + static_cast<int>(rng.Below(4));
    KernelSpec spec = OneNode(rng.Below(3) == 0 ? "LogSoftmax" : "Softmax",
                              RandomOperand(rng, Choose(rng, Types()), RandomDims(rng, rank)));
    spec.attributes.Set("axis", static_cast<int64_t>(rng.Below(rank)));
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "softmax");
}

TEST(SoftmaxTest, LongRowsInAndOutsideOfRegisters) {
  std::vector<KernelSpec> specs;
  for (const DType dtype : Types()) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      for (const int64_t length : {64, 250, 1024, 3001, 40000, 33001}) {
        if (length > 10000 && dtype == DType::kBfloat16) continue;
        const std::vector<int64_t> dims = {length > 10000 ? 1 : 3, length};
        specs.push_back(OneNode(op, {model::StaticType(dtype, dims)}));
      }
    }
  }
  ExpectSourceKernelsAgree(specs, "softmax");
}

TEST(SoftmaxTest, ManyRowsShareABlock) {
  std::vector<KernelSpec> specs;
  for (const DType dtype : Types()) {
    specs.push_back(OneNode("Softmax", {model::StaticType(dtype, std::vector<int64_t>{9001, 16})}));
  }
  ExpectSourceKernelsAgree(specs, "softmax");
}

TEST(NormalizeTest, OverTrailingAxes) {
  Rng rng(2);
  std::vector<KernelSpec> specs;
  for (int i = 0; i < 40; ++i) {
    const int rank = 1 + static_cast<int>(rng.Below(4));
    const DType dtype = Choose(rng, Types());
    const std::vector<int64_t> dims = RandomDims(rng, rank);
    const int64_t axis = static_cast<int64_t>(rng.Below(rank));
    KernelSpec spec = OneNode(rng.Below(3) == 0 ? "RMSNormalization" : "LayerNormalization",
                              {model::StaticType(dtype, dims)});
    spec.attributes.Set("axis", axis);
    if (rng.Below(2) == 0) spec.attributes.Set("epsilon", 0.01);
    std::vector<int64_t> scale(dims.begin() + axis, dims.end());
    if (rng.Below(4) == 0) scale = RandomBroadcast(rng, dims);
    spec.inputs.push_back({model::StaticType(dtype, scale), rng.Below(2) == 0});
    if (spec.op == "LayerNormalization" && rng.Below(2) == 0) {
      spec.inputs.push_back({model::StaticType(dtype, scale), true});
    }
    specs.push_back(spec);
  }
  for (const int64_t length : {768, 1021, 40000}) {
    KernelSpec spec =
        OneNode("LayerNormalization",
                {model::StaticType(DType::kFloat16, std::vector<int64_t>{2, length})});
    const Operand vector{model::StaticType(DType::kFloat16, std::vector<int64_t>{length}), true};
    spec.inputs.push_back(vector);
    spec.inputs.push_back(vector);
    specs.push_back(spec);
    spec.op = "RMSNormalization";
    spec.inputs.pop_back();
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "normalize");
}

// Few long rows take two kernels: one for the moments of their chunks, and one that combines them.
TEST(NormalizeTest, LongRowsAreCutIntoChunks) {
  std::vector<KernelSpec> specs;
  for (const DType dtype : Types()) {
    for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
      for (const int64_t length : {1 << 16, 5 * 13 * 1024}) {
        KernelSpec spec = OneNode(op, {model::StaticType(dtype, std::vector<int64_t>{2, length})});
        const Operand vector{model::StaticType(dtype, std::vector<int64_t>{length}), true};
        spec.inputs.push_back(vector);
        if (spec.op == "LayerNormalization") spec.inputs.push_back(vector);
        specs.push_back(spec);
      }
    }
    KernelSpec groups = OneNode("GroupNormalization",
                                {model::StaticType(dtype, std::vector<int64_t>{1, 6, 160, 140})});
    const Operand vector{model::StaticType(dtype, std::vector<int64_t>{6}), true};
    groups.inputs.push_back(vector);
    groups.inputs.push_back(vector);
    groups.attributes.Set("num_groups", int64_t{2});
    specs.push_back(groups);
  }
  for (const KernelSpec& spec : specs) {
    EXPECT_EQ(MakeNormalizeProgram(spec)->launches.size(), 2u) << KernelKey(spec);
  }
  ExpectSourceKernelsAgree(specs, "normalize");
}

TEST(NormalizeTest, OverChannelsOfImages) {
  std::vector<KernelSpec> specs;
  for (const DType dtype : Types()) {
    for (const int64_t size : {4, 7, 60}) {
      KernelSpec spec = OneNode("InstanceNormalization",
                                {model::StaticType(dtype, std::vector<int64_t>{2, 6, size, size})});
      const Operand vector{model::StaticType(dtype, std::vector<int64_t>{6}), true};
      spec.inputs.push_back(vector);
      spec.inputs.push_back(vector);
      specs.push_back(spec);
      spec.op = "GroupNormalization";
      spec.attributes.Set("num_groups", int64_t{3});
      specs.push_back(spec);
    }
  }
  ExpectSourceKernelsAgree(specs, "normalize");
}

}  // namespace
}  // namespace quotient::kernels::cuda
