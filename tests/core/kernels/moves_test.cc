// Which boxes of elements operators move, as text: "operand+offset->output+offset:" and an axis
// after the other, "count*from>to".

#include "core/kernels/moves.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/text.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

using model::Ints;

Operand OperandOf(absl::string_view type, Layout layout = Layout::kPlain) {
  const auto parsed = model::ParseTensorType(type);
  EXPECT_OK(parsed.status()) << type;
  return {.type = *parsed, .layout = layout};
}

KernelSpec SpecOf(absl::string_view op, model::AttributeMap attributes, std::vector<Operand> inputs,
                  std::vector<Operand> outputs) {
  KernelSpec spec;
  spec.op = std::string(op);
  spec.attributes = std::move(attributes);
  spec.inputs = std::move(inputs);
  spec.outputs = std::move(outputs);
  return spec;
}

std::string Describe(const std::vector<CopyAxis>& axes) {
  std::string text;
  for (const CopyAxis& axis : axes) {
    absl::StrAppend(&text, " ", axis.count, "*", axis.from, ">", axis.to);
  }
  return text;
}

// "none" where there are none; lines otherwise.
std::string MovesText(const KernelSpec& spec) {
  const auto moves = MovesOf(spec);
  if (!moves) return "none";
  std::string text;
  for (const Move& move : *moves) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", move.operand, "+", move.from_offset, "->",
                    move.output, "+", move.to_offset, ":", Describe(move.axes));
  }
  return text;
}

// The moves of an operator with one input and one output, both plain.
std::string MovesText(absl::string_view op, model::AttributeMap attributes, absl::string_view from,
                      absl::string_view to) {
  return MovesText(SpecOf(op, std::move(attributes), {OperandOf(from)}, {OperandOf(to)}));
}

TEST(MovesTest, TransposesReadAlongTheOtherAxes) {
  EXPECT_EQ(MovesText("Transpose", {{"perm", Ints{1, 0}}}, "float32[2,3]", "float32[3,2]"),
            "0+0->0+0: 3*1>2 2*3>1");
  EXPECT_EQ(MovesText("Transpose", {{"perm", Ints{2, 0, 1}}}, "float32[2,3,4]", "float32[4,2,3]"),
            "0+0->0+0: 4*1>6 2*12>3 3*4>1");
  // All axes the other way round if nothing is said.
  EXPECT_EQ(MovesText("Transpose", {}, "float32[2,3,4]", "float32[4,3,2]"),
            "0+0->0+0: 4*1>6 3*4>2 2*12>1");
}

TEST(MovesTest, ReordersGoFromLayoutToLayout) {
  EXPECT_EQ(MovesText(SpecOf(kReorderOp, {}, {OperandOf("float32[1,2,2,3]")},
                             {OperandOf("float32[1,2,2,3]", Layout::kChannelsLast)})),
            "0+0->0+0: 1*12>12 2*6>1 2*3>6 3*1>2");
}

TEST(MovesTest, SlicesStepAndGoBackwards) {
  EXPECT_EQ(
      MovesText("Slice",
                {{"starts", Ints{1}}, {"ends", Ints{5}}, {"axes", Ints{1}}, {"steps", Ints{2}}},
                "float32[2,5]", "float32[2,2]"),
      "0+1->0+0: 2*5>2 2*2>1");
  EXPECT_EQ(
      MovesText("Slice",
                {{"starts", Ints{-1}}, {"ends", Ints{-9}}, {"axes", Ints{-1}}, {"steps", Ints{-1}}},
                "float32[2,3]", "float32[2,3]"),
      "0+2->0+0: 2*3>3 3*-1>1");
  EXPECT_EQ(MovesText("Slice", {{"starts", Ints{1, 2}}, {"ends", Ints{3, 4}}}, "float32[4,5]",
                      "float32[2,2]"),
            "0+7->0+0: 2*5>2 2*1>1");
}

TEST(MovesTest, SplitsFillOneOutputAfterTheOther) {
  EXPECT_EQ(MovesText(SpecOf("Split", {{"axis", int64_t{-1}}}, {OperandOf("float32[2,5]")},
                             {OperandOf("float32[2,2]"), OperandOf("float32[2,3]")})),
            "0+0->0+0: 2*5>2 2*1>1\n0+2->1+0: 2*5>3 3*1>1");
}

TEST(MovesTest, ConcatsPutOneOperandBehindTheOther) {
  const std::vector<Operand> rows = {OperandOf("float32[1,3]"), OperandOf("float32[2,3]")};
  EXPECT_EQ(MovesText(SpecOf("Concat", {{"axis", int64_t{0}}}, rows, {OperandOf("float32[3,3]")})),
            "0+0->0+0: 1*3>3 3*1>1\n1+0->0+3: 2*3>3 3*1>1");
  const std::vector<Operand> columns = {OperandOf("float32[2,2]"), OperandOf("float32[2,3]")};
  EXPECT_EQ(
      MovesText(SpecOf("Concat", {{"axis", int64_t{-1}}}, columns, {OperandOf("float32[2,5]")})),
      "0+0->0+0: 2*2>5 2*1>1\n1+0->0+2: 2*3>5 3*1>1");
}

TEST(MovesTest, ExpandsReadAnElementAgain) {
  EXPECT_EQ(MovesText("Expand", {}, "float32[3,1]", "float32[2,3,4]"),
            "0+0->0+0: 2*0>12 3*1>4 4*0>1");
}

TEST(MovesTest, TilesReadTheWholeAgain) {
  EXPECT_EQ(MovesText("Tile", {{"repeats", Ints{2, 3}}}, "float32[2,3]", "float32[4,9]"),
            "0+0->0+0: 2*0>18 2*3>9 3*0>3 3*1>1");
}

TEST(MovesTest, NewShapesLeaveTheOrderInMemory) {
  EXPECT_EQ(MovesText("Reshape", {}, "float32[2,3]", "float32[6]"), "0+0->0+0: 6*1>1");
  EXPECT_EQ(MovesText(SpecOf("Reshape", {}, {OperandOf("float32[1,2,3,3]", Layout::kChannelsLast)},
                             {OperandOf("float32[18]")})),
            "none");
}

TEST(MovesTest, NoneOfWhatComputesOrIsNotKnown) {
  EXPECT_EQ(MovesText("Relu", {}, "float32[2]", "float32[2]"), "none");
  EXPECT_EQ(MovesText("Tile", {}, "float32[2]", "float32[4]"), "none");
  const Operand numbers = OperandOf("int64[1]");
  EXPECT_EQ(MovesText(SpecOf("Slice", {}, {OperandOf("float32[4]"), numbers, numbers},
                             {OperandOf("float32[2]")})),
            "none");
  EXPECT_EQ(MovesText(SpecOf("Tile", {{"repeats", Ints{2}}}, {OperandOf("float32[2]"), numbers},
                             {OperandOf("float32[4]")})),
            "none");
}

TEST(MovesTest, InputsThatAreLeftOutAreNotRead) {
  KernelSpec spec = SpecOf("Slice", {}, {Operand{}, Operand{}}, {});
  EXPECT_TRUE(ReadsOnlyInputZero(spec));
  spec.inputs[1] = OperandOf("int64[1]");
  EXPECT_FALSE(ReadsOnlyInputZero(spec));
}

TEST(MovesTest, ElementsAreThoseOfAllAxes) {
  EXPECT_EQ((Move{.axes = {{2, 3, 3}, {3, 1, 1}}}.elements()), 6);
  EXPECT_EQ((Move{.axes = {{2, 3, 3}, {0, 1, 1}}}.elements()), 0);
  EXPECT_EQ(Move{}.elements(), 1);
}

TEST(SimplifyTest, SameBoxInFewerAxes) {
  const struct {
    std::vector<CopyAxis> axes;
    const char* simplified;
  } kCases[] = {
      {{}, " 1*1>1"},
      {{{1, 7, 7}, {1, 3, 9}}, " 1*1>1"},
      {{{2, 12, 12}, {3, 4, 4}, {4, 1, 1}}, " 24*1>1"},          // one run
      {{{2, 12, 24}, {3, 4, 4}, {4, 1, 1}}, " 2*12>24 12*1>1"},  // a gap on the writing side
      {{{3, 1, 2}, {2, 3, 1}}, " 3*1>2 2*3>1"},                  // a transpose
      {{{2, 1, 1}, {3, 2, 2}}, " 6*1>1"},                        // the fastest axis first
      {{{2, 0, 12}, {3, 1, 4}, {4, 0, 1}}, " 2*0>12 3*1>4 4*0>1"},
      {{{2, 0, 3}, {3, 0, 1}}, " 6*0>1"},     // one element everywhere
      {{{2, -3, 3}, {3, -1, 1}}, " 6*-1>1"},  // backwards
      {{{2, 3, 3}, {1, 9, 9}, {3, 1, 1}}, " 6*1>1"},
  };
  for (const auto& [axes, simplified] : kCases) {
    EXPECT_EQ(Describe(Simplify(axes)), simplified) << Describe(axes);
  }
}

}  // namespace
}  // namespace quotient::kernels
