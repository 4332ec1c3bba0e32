// Which axes reductions run along, and where that leaves their results.

#include "core/kernels/reduced_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/kernels/layout.h"

namespace quotient::kernels {
namespace {

using model::Ints;
using ::testing::ElementsAre;

Operand Floats(const std::vector<int64_t>& dims, Layout layout = Layout::kPlain) {
  return {.type = model::StaticType(model::DType::kFloat32, dims), .layout = layout};
}

KernelSpec SpecOf(const char* op, const model::AttributeMap& attributes,
                  const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  KernelSpec spec;
  spec.op = op;
  spec.attributes = attributes;
  spec.inputs = {Floats(from)};
  spec.outputs = {Floats(to)};
  return spec;
}

TEST(ReducedAxesTest, OfEveryForm) {
  constexpr int64_t kOne = 1;
  constexpr bool kYes = true, kNo = false;
  const struct {
    const char* op;
    model::AttributeMap attributes;
    std::vector<int64_t> from, to;
    std::vector<bool> reduced;
    std::vector<int64_t> strides;
  } kCases[] = {
      {"ReduceSum", {{"axes", Ints{1}}}, {2, 3, 4}, {2, 1, 4}, {kNo, kYes, kNo}, {4, 0, 1}},
      {"ReduceMax", {{"axes", Ints{-1}}}, {2, 3, 4}, {2, 3}, {kNo, kNo, kYes}, {3, 1, 0}},
      {"ReduceMean", {{"axes", Ints{-1, 0}}}, {2, 3, 4}, {3}, {kYes, kNo, kYes}, {0, 1, 0}},
      {"ReduceMean", {{"axes", Ints{0, 1}}}, {2, 3}, {1, 1}, {kYes, kYes}, {0, 0}},
      // Without axes all of them, unless that is to mean none.
      {"ReduceSum", {}, {2, 3}, {}, {kYes, kYes}, {0, 0}},
      {"ReduceSum", {{"axes", Ints{}}}, {2, 3}, {1, 1}, {kYes, kYes}, {0, 0}},
      {"ReduceSum", {{"noop_with_empty_axes", kOne}}, {2, 3}, {2, 3}, {kNo, kNo}, {3, 1}},
      {"ReduceSum",
       {{"axes", Ints{0}}, {"noop_with_empty_axes", kOne}},
       {2, 3},
       {3},
       {kYes, kNo},
       {0, 1}},
      {"ReduceSum", {}, {}, {}, {}, {}},
      {"ArgMax", {}, {2, 3}, {1, 3}, {kYes, kNo}, {0, 1}},
      {"ArgMin", {{"axis", int64_t{-2}}}, {2, 3, 4}, {2, 4}, {kNo, kYes, kNo}, {4, 0, 1}},
      {"GlobalAveragePool", {}, {2, 3, 4, 5}, {2, 3, 1, 1}, {kNo, kNo, kYes, kYes}, {3, 1, 0, 0}},
      {"GlobalMaxPool", {}, {2, 3, 4}, {2, 3, 1}, {kNo, kNo, kYes}, {3, 1, 0}},
  };
  for (const auto& [op, attributes, from, to, reduced, strides] : kCases) {
    const KernelSpec spec = SpecOf(op, attributes, from, to);
    EXPECT_EQ(ReducedAxes(spec), reduced) << KernelKey(spec);
    EXPECT_EQ(ReducedStrides(spec, ReducedAxes(spec)), strides) << KernelKey(spec);
  }
}

TEST(ReducedAxesTest, StridesAreThoseOfTheOutputsLayout) {
  KernelSpec spec = SpecOf("ReduceSum", {{"axes", Ints{0}}}, {2, 3, 4, 5}, {1, 3, 4, 5});
  spec.outputs[0].layout = Layout::kChannelsLast;
  EXPECT_THAT(ReducedStrides(spec, ReducedAxes(spec)), ElementsAre(0, 1, 15, 3));
}

}  // namespace
}  // namespace quotient::kernels
