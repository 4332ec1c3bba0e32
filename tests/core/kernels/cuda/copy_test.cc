// GPU kernels that only move elements.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernels/cuda/source/programs.h"
#include "tests/core/kernels/cuda/source_checks.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

const std::vector<DType>& Types() {
  static const auto& types =
      *new std::vector<DType>{DType::kFloat32, DType::kFloat16, DType::kBfloat16,
                              DType::kInt64,   DType::kInt32,   DType::kBool};
  return types;
}

KernelSpec RandomTranspose(Rng& rng, std::vector<int64_t> dims) {
  model::Ints perm(dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[rng.Below(i)]);
  std::vector<int64_t> turned;
  for (const int64_t axis : perm) turned.push_back(dims[axis]);
  const DType dtype = Choose(rng, Types());
  KernelSpec spec;
  spec.op = "Transpose";
  spec.attributes.Set("perm", perm);
  spec.inputs = {RandomOperand(rng, dtype, dims)};
  spec.outputs = {RandomOperand(rng, dtype, turned)};
  return spec;
}

TEST(CopyTest, TransposesOfSmallTensors) {
  Rng rng(1);
  std::vector<KernelSpec> specs;
  while (specs.size() < 30) {
    const KernelSpec spec = RandomTranspose(rng, RandomDims(rng, static_cast<int>(rng.Below(5))));
    if (MakeSourceProgram(spec)->name == "copy") specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "copy");
}

TEST(CopyTest, TransposesThroughTiles) {
  Rng rng(2);
  std::vector<KernelSpec> specs;
  const std::vector<std::vector<int64_t>> shapes = {
      {33, 70},  {64, 64},     {3, 40, 65}, {2, 3, 17, 66}, {2, 40, 5, 41},
      {100, 16}, {1, 129, 31}, {3, 66, 90}, {2, 36, 3, 68}, {3, 34, 20}};
  while (specs.size() < 36) {
    const KernelSpec spec = RandomTranspose(rng, Choose(rng, shapes));
    if (MakeSourceProgram(spec)->name == "transpose") specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "transpose");
}

TEST(CopyTest, LayoutChanges) {
  std::vector<KernelSpec> small, large;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    for (const bool to_last : {false, true}) {
      const auto reorder = [&](std::vector<int64_t> dims) {
        KernelSpec spec;
        spec.op = kReorderOp;
        spec.inputs = {{model::StaticType(dtype, dims)}};
        spec.outputs = spec.inputs;
        (to_last ? spec.outputs : spec.inputs)[0].layout = Layout::kChannelsLast;
        return spec;
      };
      small.push_back(reorder({2, 3, 9, 7}));
      small.push_back(reorder({2, 64, 3}));
      large.push_back(reorder({2, 65, 9, 8}));
      large.push_back(reorder({1, 32, 3, 4, 5}));
    }
  }
  ExpectSourceKernelsAgree(small, "copy");
  ExpectSourceKernelsAgree(large, "transpose");
}

// The kernels of graphs with one node, and the same kernels with everything channels last.
std::vector<KernelSpec> InBothLayouts(const std::vector<std::string>& nodes,
                                      const std::string& dims) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16", "int64", "bool"}) {
    for (const std::string& node : nodes) {
      for (KernelSpec spec :
           SpecsOf(absl::StrCat("input x: ", type, dims, "\ninput z: ", type, dims, "\n", node))) {
        specs.push_back(spec);
        if (type[0] != 'f') continue;
        for (std::vector<Operand>* operands : {&spec.inputs, &spec.outputs}) {
          for (Operand& operand : *operands) operand.layout = Layout::kChannelsLast;
        }
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

TEST(CopyTest, ConcatAndSplitAlongAnyAxis) {
  std::vector<std::string> nodes;
  for (const char* axis : {"0", "1", "3"}) {
    nodes.push_back(absl::StrCat("y = Concat(x, z, x) {axis=", axis, "}\noutput y\n"));
  }
  nodes.push_back("(a, b) = Split(x) {axis=1, split=[3,5]}\noutput a, b\n");
  nodes.push_back("(a, b) = Split(x) {axis=3, split=[4,12]}\noutput a, b\n");
  ExpectSourceKernelsAgree(InBothLayouts(nodes, "[2,8,3,16]"), "copy");
}

TEST(CopyTest, SlicesWithStepsOfBothSigns) {
  ExpectSourceKernelsAgree(
      InBothLayouts({"y = Slice(x) {starts=[1,2], ends=[7,9], axes=[1,3], steps=[2,1]}\noutput y\n",
                     "y = Slice(x) {starts=[7,-1], ends=[0,-100], axes=[1,3], steps=[-2,-1]}\n"
                     "output y\n",
                     "y = Slice(x) {starts=[4], ends=[12], axes=[3], steps=[1]}\noutput y\n"},
                    "[2,8,3,16]"),
      "copy");
}

TEST(CopyTest, ExpandTileAndOthers) {
  ExpectSourceKernelsAgree(InBothLayouts({"y = Expand(x) {shape=[2,4,3,5]}\noutput y\n",
                                          "y = Expand(x) {shape=[2,4,3,1]}\noutput y\n",
                                          "y = Tile(x) {repeats=[2,1,3,2]}\noutput y\n"},
                                         "[1,4,3,1]"),
                           "copy");
  std::vector<KernelSpec> specs;
  for (const char* op : {"Identity", "Dropout"}) {
    KernelSpec spec;
    spec.op = op;
    spec.inputs = {{model::StaticType(DType::kFloat16, std::vector<int64_t>{2, 5, 3, 4})}};
    spec.outputs = spec.inputs;
    spec.outputs[0].layout = Layout::kChannelsLast;
    specs.push_back(spec);
    spec.inputs[0].constant = true;
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "copy");
}

TEST(CopyTest, EmptyPartsAreLeftOut) {
  const auto specs = SpecsOf(
      "input x: float32[2,0]\ninput z: float32[2,3]\ny = Concat(x, z) {axis=1}\noutput y\n");
  ExpectSourceKernelsAgree(specs, "copy");
}

}  // namespace
}  // namespace quotient::kernels::cuda
