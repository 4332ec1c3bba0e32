// Softmax before opset 13, which normalizes all dimensions from the axis on together.

#include <string>

#include "core/ops/infer_graph.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::MustParse;
using ::quotient::testing::OpsOf;
using ::quotient::testing::ReadProto;
using ::quotient::testing::RunOnRamp;
using ::testing::Field;
using ::testing::HasSubstr;

struct Coerced {
  const char* axis;
  const char* canonical;
};

// Normalises all dimensions from the axis on together.
TEST(CoercedSoftmaxTest, NormalisesTheMatrix) {
  const Coerced cases[] = {
      {"0", R"(graph g { input x: float32[2,3,4] m = Reshape(x) {shape=[1,24]}
               s = Softmax(m) y = Reshape(s) {shape=[2,3,4]} output y })"},
      {"1", R"(graph g { input x: float32[2,3,4] m = Reshape(x) {shape=[2,12]}
               s = Softmax(m) y = Reshape(s) {shape=[2,3,4]} output y })"},
      {"-2", R"(graph g { input x: float32[2,3,4] m = Reshape(x) {shape=[2,12]}
                s = Softmax(m) y = Reshape(s) {shape=[2,3,4]} output y })"},
  };
  for (const Coerced& coerced : cases) {
    ASSERT_OK_AND_ASSIGN(
        const Model model,
        ReadProto(ModelAtOpset(11, absl::StrCat("g (float[2,3,4] x) => (float[2,3,4] y) { y = "
                                                "Softmax<axis = ",
                                                coerced.axis, ">(x) }"))));
    EXPECT_EQ(OpsOf(model.graph), "Flatten,Softmax,Shape,Reshape");
    ASSERT_OK_AND_ASSIGN(const auto got, RunOnRamp(model.graph));
    ASSERT_OK_AND_ASSIGN(const auto wanted, RunOnRamp(MustParse(coerced.canonical)));
    EXPECT_TRUE(model::SameContent(got[0], wanted[0])) << coerced.axis;
  }
}

TEST(CoercedSoftmaxTest, TakesTensorsWithoutElements) {
  ASSERT_OK_AND_ASSIGN(
      Model model,
      ReadProto(ModelAtOpset(
          11, "g (float[3,2,0,4] x) => (float[3,2,0,4] y) { y = Softmax<axis = 1>(x) }")));
  EXPECT_OK(ops::InferTypes(model.graph));
}

// A dimension that is 0 when the model runs must not be taken for one that is copied from
// elsewhere, and -1 cannot be told beside one.
TEST(CoercedSoftmaxTest, TakesBatchesOfNone) {
  struct Case {
    const char* shape;
    const char* axis;
    const char* reshape;
  };
  const Case cases[] = {
      {"N,3,4", "1", "Reshape{shape=[0,3,4]}"},
      {"N,3,4", "0", "Reshape{shape=[-1,3,4]}"},
      {"N,S,4", "1", "Reshape"},
      {"N,S,4", "0", "Reshape{allowzero=1}"},
      {"N,M,S,4", "2", "Reshape{allowzero=1}"},
      {"2,N,3,4", "2", "Reshape{shape=[2,-1,3,4]}"},
  };
  for (const Case& test : cases) {
    ASSERT_OK_AND_ASSIGN(
        Model model, ReadProto(ModelAtOpset(
                         11, absl::StrCat("g (float[", test.shape, "] x) => (float[", test.shape,
                                          "] y) { y = Softmax<axis = ", test.axis, ">(x) }"))));
    ASSERT_OK(ops::InferTypes(model.graph));
    const model::Node& last = model.graph.nodes.back();
    EXPECT_EQ(absl::StrCat(last.op, model::ToString(last.attributes)), test.reshape)
        << test.shape << " from " << test.axis;
  }
}

// The rank of what comes before is not declared, only inferred.
TEST(CoercedSoftmaxTest, IsPlainWhereTheAxisTurnsOutToBeTheLast) {
  ASSERT_OK_AND_ASSIGN(const Model model, ReadProto(ModelAtOpset(11, R"(
      g (float[N,4] x) => (float[N,4] y) { t = Relu(x)  y = Softmax<axis = 1>(t) })")));
  EXPECT_EQ(OpsOf(model.graph), "Relu,Softmax");
}

TEST(CoercedSoftmaxTest, IsOpaqueWithAnAxisOutsideOfTheTensor) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       ReadProto(ModelAtOpset(
                           11, "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 5>(x) }")));
  EXPECT_EQ(OpsOf(model.graph), "Opaque:Softmax");
  EXPECT_THAT(model.objections,
              ::testing::ElementsAre(Field(&ObjectionAt::text, HasSubstr("axis 5"))));
}

TEST(CoercedSoftmaxTest, IsWrittenBackInTheOldOpset) {
  const ::onnx::ModelProto before =
      ModelAtOpset(11, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }");
  const ::onnx::ModelProto after = ::quotient::testing::RoundTrip(before);
  EXPECT_EQ(after.opset_import(0).version(), 11);
  ASSERT_OK_AND_ASSIGN(const Model first, ReadProto(before));
  ASSERT_OK_AND_ASSIGN(const Model second, ReadProto(after));
  ASSERT_OK_AND_ASSIGN(const auto wanted, RunOnRamp(first.graph));
  ASSERT_OK_AND_ASSIGN(const auto got, RunOnRamp(second.graph));
  EXPECT_TRUE(model::SameContent(got[0], wanted[0]));
}

}  // namespace
}  // namespace quotient::onnx
