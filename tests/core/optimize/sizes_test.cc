// What is right at one size is right at all: models whose files declare types that are out of date,
// dimensions that nobody knows, sizes that have to be found, and sizes that only a run can tell.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/eval/fold.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/timing/store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::onnx::ModelProto;
using ::testing::Contains;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ModelAtOpset;
using ::testing::Not;

class SizesTest : public ::testing::Test {
 protected:
  SizesTest() {
    options_.device = "model:h200";
    options_.threads = 1;
    options_.budget_seconds = 60;
  }

  absl::StatusOr<Result> Run(const ModelProto& model) {
    bytes_ = model.SerializeAsString();
    const ModelFiles files{.name = "m.onnx", .model = bytes_};
    return Optimize(files, options_, environment_, StopCondition(&token_), nullptr);
  }

  // The model improved, and its result is equal at these dims of its input.
  void ExpectImprovedAndEqual(const ModelProto& model, const std::vector<int64_t>& dims) {
    const absl::StatusOr<Result> result = Run(model);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    const std::vector<model::Tensor> before = OutputsAt(model, dims);
    const std::vector<model::Tensor> after =
        OutputsAt(testing::ParseBytes(result->files.model), dims);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].dims(), after[i].dims());
      EXPECT_EQ(before[i].AsDoubles(), after[i].AsDoubles());
    }
  }

  static std::vector<model::Tensor> OutputsAt(const ModelProto& proto,
                                              const std::vector<int64_t>& dims) {
    absl::StatusOr<onnx::Model> read = testing::ReadProto(proto);
    EXPECT_THAT(read, IsOk());
    EXPECT_THAT(ops::SetShapes({{"x", dims}}, read->graph), IsOk());
    EXPECT_THAT(eval::FoldConstants(read->graph), IsOk());
    const auto outputs = testing::RunOnRamp(read->graph);
    EXPECT_THAT(outputs, IsOk());
    return outputs.ok() ? *outputs : std::vector<model::Tensor>();
  }

  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
  Environment environment_{.devices = &devices_, .clock = Clock::System()};
  Options options_;
  CancelToken token_;
  std::string bytes_;
};

// "0.5, -0.25, ...": numbers of both signs as text.
std::string Numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&text, i > 0 ? ", " : "", 0.125 * (i * 7 % 13 - 6.5));
  return text;
}

// Two Transposes that undo each other, so that there is a gain whatever else there is.
constexpr char kGain[] = R"(
    t1 = Transpose <perm = [0,2,1]> (x)
    t2 = Transpose <perm = [0,2,1]> (t1)
    r = Relu(t2)
)";

TEST_F(SizesTest, ADeclaredBatchOfOneDoesNotMakeTransposesViews) {
  const ModelProto model =
      ModelAtOpset(17, absl::StrCat(R"(g (float[N,S,8] x) => (float[S,8] a, float[S,8] b)
          <int64[2] rows = {-1, 8}, float[1,S,8] r, float[S,1,8] t> {)",
                                    kGain, R"(
            t = Transpose <perm = [1,0,2]> (r)
            a = Reshape(t, rows)
            b = Reshape(r, rows)
          })"));
  ExpectImprovedAndEqual(model, {2, 5, 8});
}

TEST_F(SizesTest, ADeclaredBatchOfOneDoesNotFixPooledRows) {
  const ModelProto model = ModelAtOpset(17, absl::StrCat(R"(g (float[N,S,4] x) => (float[1,4] y)
          <int64[1] zero = {0}, int64[1] one = {1}, int64 first = {0}, float[1,S,4] r,
           float[1,1,4] c, float[1,4] g> {)",
                                                         kGain, R"(
            c = Slice(r, zero, one, one)
            g = Gather <axis = 1> (c, first)
            y = Tanh(g)
          })"));
  ExpectImprovedAndEqual(model, {3, 5, 4});
}

// Some recognizers of text declare an output [1, length] and yield rank 3.
TEST_F(SizesTest, ADeclaredRankThatIsWrongIsToldOfAndKept) {
  const ModelProto model =
      ModelAtOpset(17, absl::StrCat("g (float[N,S,4] x) => (float[1,S] r) {", kGain, "}"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes,
              Contains(HasSubstr("'r' is declared as float32[1,S], but is float32[N,S,4]")));
  EXPECT_EQ(testing::ParseBytes(result->files.model).graph().output(0).SerializeAsString(),
            model.graph().output(0).SerializeAsString());
}

TEST_F(SizesTest, ShapesCanBeBoundForGoodWhereDeclaredOnesAreStale) {
  const ModelProto model = ModelAtOpset(
      17, absl::StrCat("g (float[N,S,4] x) => (float[1,S,4] r) <float[1,4,S] t1> {", kGain, "}"));
  options_.shapes["x"] = {2, 6, 4};
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  const ModelProto bound = testing::ParseBytes(result->files.model);
  for (const auto* info : {&bound.graph().input(0), &bound.graph().output(0)}) {
    EXPECT_EQ(info->type().tensor_type().shape().dim(0).dim_value(), 2) << info->name();
  }
  options_.shapes["x"] = {2, 6, 5};
  EXPECT_THAT(Run(model), testing::HasReason(Reason::kOptionInvalid));
}

TEST_F(SizesTest, DimensionsOfOneQuestionMarkAreBoundToDifferentNumbers) {
  ModelProto model = ModelAtOpset(17, R"(
      g (float[A,3,B,C] x) => (float[A,8,B,C] y) <float[8,3,1,1] w = {
          1,1,1, 1,1,1, 1,1,1, 1,1,1, 1,1,1, 1,1,1, 1,1,1, 1,1,1}> { y = Conv(x, w) })");
  auto& shape = *model.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  for (const int axis : {0, 2, 3}) shape.mutable_dim(axis)->set_dim_param("?");
  EXPECT_THAT(Run(model), IsOk());
  options_.measure_shapes["x"] = {1, 3, 48, 192};
  EXPECT_THAT(Run(model), IsOk());
}

TEST_F(SizesTest, SizesThatFitAreFound) {
  ModelProto model = ModelAtOpset(
      17, "g (float[N,1,L] x) => (float[N,1,M] y) <float[1,1,256] w> { y = Conv(x, w) }");
  auto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  for (const int dim : {1, 1, 256}) weights.add_dims(dim);
  for (int i = 0; i < 256; ++i) weights.add_float_data(0.1f);
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'L' of input 'x' was taken as 256")));
  EXPECT_EQ(result->report.cut_nodes, 0);
}

TEST_F(SizesTest, ALengthThatTheModelInsistsOnIsFoundAndSaid) {
  const ModelProto model = ModelAtOpset(
      17, absl::StrCat("g (float[1,S,8] x) => (float[1,77,8] y) <int64[3] to = {1, 77, 8}> {",
                       kGain, "y = Reshape(r, to) }"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'S' of input 'x' was taken as 77")));
}

TEST_F(SizesTest, AnInputWithoutARankIsNoReasonToRefuse) {
  ModelProto model = ModelAtOpset(17, "g (float[N] x) => (float[N] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("the rank of input 'x'")));
}

// A device of which only a model is known prices a normalization behind a Conv as nothing.
TEST_F(SizesTest, WhatDoesNotGainByTheModelIsNotChecked) {
  const ModelProto model = ModelAtOpset(17, R"(
      g (float[2,4,8,8] x, int64[2] i) => (float[2,2,8,8] y, float[2] far)
        <float[2,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {1, 2}, float[2] b = {3, 4},
         float[2] m = {0.5, 0.25}, float[2] v = {1, 2}, int64 hundred = {100}> {
          c = Conv(x, w)
          y = BatchNormalization(c, s, b, m, v)
          k = Add(i, hundred)
          far = Gather(s, k)
        })");
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("random inputs")).Times(0))
      << "no inputs were drawn";
}

// Declarations of a model for which no sizes are found are told of all the same.
TEST_F(SizesTest, StaleDeclarationsAreToldOfAModelThatComesBackUntouched) {
  const ModelProto model = ModelAtOpset(17, R"(
      g (float[2,S] x) => (float[7,2,10007] y)
        <int64[3] shape = {7, 2, 10007}, float[2,3] r> {
          t = Relu(x)
          r = Transpose <perm = [1,0]> (t)
          y = Reshape(r, shape)
        })");
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.passed_through, ReasonName(Reason::kShapeMissing));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'r' is declared as float32[2,3]")));
}

TEST_F(SizesTest, NoShapeIsAskedForWhatIsNoTensor) {
  ModelProto model = ModelAtOpset(17, R"(
      g (float[N] x, int64 i) => (float[N] y) { e = SequenceAt(x, i)  y = Relu(e) })");
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::FLOAT);
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("input 'x' is not a tensor")));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("--measure-shape")).Times(0));
}

TEST_F(SizesTest, AShapeOfWhatIsNoTensorIsRefused) {
  const auto make_float = [](::onnx::TypeProto* type) {
    type->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  };
  ModelProto sequence = ModelAtOpset(17, R"(
      g (float[N] x, int64 i) => (float[N] y) { e = SequenceAt(x, i)  y = Relu(e) })");
  auto* type = sequence.mutable_graph()->mutable_input(0)->mutable_type();
  make_float(type->mutable_sequence_type()->mutable_elem_type());
  ModelProto optional = ModelAtOpset(17, R"(
      g (float[N] x) => (float[N] y) { e = OptionalGetElement(x)  y = Relu(e) })");
  type = optional.mutable_graph()->mutable_input(0)->mutable_type();
  make_float(type->mutable_optional_type()->mutable_elem_type());
  for (const ModelProto& model : {sequence, optional}) {
    const auto refused = HasReason(Reason::kOptionInvalid, HasSubstr("input 'x' cannot have one"));
    options_ = Options();
    options_.measure_shapes["x"] = {3};
    EXPECT_THAT(Run(model), refused);
    options_ = Options();
    options_.shapes["x"] = {3};
    EXPECT_THAT(Run(model), refused);
  }
}

// The shape of one input is the shape of another only by its name. What is inferred by names makes
// it a constant of the other input, and no rule is to blame for that.
TEST_F(SizesTest, NamesAreForgottenWhereTheModelUsesOneInputsShapeForAnother) {
  for (const char* const use : {"Reshape", "Expand"}) {
    SCOPED_TRACE(use);
    const ModelProto model = ModelAtOpset(
        17, absl::StrCat("g (float[N,S,8] x, float[N,S,8] z) => (float[M,S,8] y) {", kGain,
                         "s = Shape(x)\n e = ", use, "(z, s)\n y = Concat <axis = 0> (r, e)}"));
    const absl::StatusOr<Result> result = Run(model);
    ASSERT_THAT(result, IsOk());
    const report::Report& report = result->report;
    EXPECT_EQ(report.outcome, report::Outcome::kImproved);
    EXPECT_EQ(testing::ParseBytes(result->files.model).graph().node_size(), 4);
    EXPECT_THAT(report.notes, Contains(HasSubstr("uses the size of one input for another")));
    EXPECT_THAT(report.notes, Not(Contains(HasSubstr("was left out"))));
    EXPECT_THAT(report.notes, Not(Contains(HasSubstr("please report"))));
  }
}

// A row of one input is cut to the length of another.
TEST_F(SizesTest, NamesAreForgottenWhereOneInputIsCutToTheLengthOfAnother) {
  const ModelProto model = ModelAtOpset(17, absl::StrCat(R"(
      g (float[N,S,8] x, float[S,8] z) => (float[N,S,8] r, float[M,8] y)
      <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}> {)",
                                                         kGain, R"(
        s = Shape(x)
        length = Slice(s, one, two)
        e = Slice(z, zero, length, zero)
        y = Tanh(e)
      })"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("uses the size of one input for another")));
  const ModelProto after = testing::ParseBytes(result->files.model);
  EXPECT_TRUE(std::ranges::any_of(after.graph().node(),
                                  [](const auto& node) { return node.op_type() == "Slice"; }));
}

// What a size is that follows from an input's values only a run can tell, whatever the file says.
TEST_F(SizesTest, DeclaredSizesThatFollowFromValuesCostNoGain) {
  for (const char* const declared : {"float[1,1,8] s", "float[N,2,8] s"}) {
    SCOPED_TRACE(declared);
    const ModelProto model = ModelAtOpset(17, absl::StrCat(R"(
        g (float[N,S,8] x, int64[1] end) => (float[N,S,8] r, float[N,M,8] y)
        <int64[1] zero = {0}, int64[1] one = {1}, )",
                                                           declared, "> {", kGain, R"(
          s = Slice(x, zero, end, one)
          y = Sigmoid(s)
        })"));
    const absl::StatusOr<Result> result = Run(model);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    EXPECT_THAT(result->report.notes, Not(Contains(HasSubstr("did not agree"))));
  }
}

// How many boxes are selected only a run can tell. What is computed of each is optimized all the
// same.
TEST_F(SizesTest, WhatIsComputedOfSelectedBoxesIsOptimized) {
  const ModelProto model = ModelAtOpset(17, R"(
      g (float[1,10,4] boxes, float[1,1,10] scores, float[10,4,8] rows) => (float[M,4,8] r)
      <int64[1] most = {10}, int64 two = {2}> {
        selected = NonMaxSuppression(boxes, scores, most)
        index = Gather <axis = 1> (selected, two)
        x = Gather(rows, index))" + std::string(kGain) +
                                                "}");
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("only a run can tell, behind 1 node")));
  EXPECT_EQ(testing::ParseBytes(result->files.model).graph().node_size(), 4);
}

// How many are taken only a run can tell: the size that is assumed does not fit the data.
TEST_F(SizesTest, WhatAnAssumedSizeDoesNotFitCostsNoGain) {
  const ModelProto model = ModelAtOpset(17, absl::StrCat(R"(
      g (float[2,3,8] x, int64[1] k) => (float[2,3,K] y, float[2,3,8] r) {)",
                                                         kGain, R"(
        v, i = TopK(r, k)
        e = GatherElements <axis = -1> (r, i)
        y = Sub(e, v)
      })"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
}

// The difference that divides is zero somewhere on any set of small integers.
TEST_F(SizesTest, AComputedDivisorCostsNoGain) {
  const ModelProto model = ModelAtOpset(17, absl::StrCat(R"(
      g (float[N,S,8] x, int64[N,5] a, int64[N,5] b) => (float[N,S,8] r, int64[N,5] y) {)",
                                                         kGain, R"(
        d = Sub(a, b)
        y = Div(a, d)
      })"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
}

// If an input is infinite, it depends on the order of operations whether products are infinite or
// NaN.
TEST_F(SizesTest, InfinitiesInProductsCostNoGain) {
  const ModelProto model = ModelAtOpset(17, R"(
      g (float[N,4] x) => (float[N,2] y)
      <float[4,16] w = {)" + Numbers(64) + R"(}, float[16,2] w2 = {)" +
                                                Numbers(32) + R"(}> {
        r = Relu(x)
        h = MatMul(r, w)
        y = MatMul(h, w2)
      })");
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Not(Contains(HasSubstr("did not agree"))));
}

TEST_F(SizesTest, AModelThatYieldsOnlyInfinitiesIsNotToBeReported) {
  const ModelProto model =
      ModelAtOpset(17, absl::StrCat("g (float[N,S,8] x) => (float[N,S,8] y) {", kGain, R"(
            low = Constant <value_float = -inf> ()
            y = Add(r, low)
          })"));
  const absl::StatusOr<Result> result = Run(model);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("no candidate could be checked")));
  EXPECT_THAT(result->report.notes, Not(Contains(HasSubstr("please report"))));
}

}  // namespace
}  // namespace quotient::optimize
