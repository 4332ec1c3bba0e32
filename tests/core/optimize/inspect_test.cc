#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <utility>

#include "core/base/reason.h"
#include "core/optimize/optimize.h"
#include "core/optimize/validate.h"
#include "tests/core/optimize/optimize_fixture.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(InspectTest, TellsWhatAModelIs) {
  const std::string model = Normalized();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\"Conv\": 2"));
  EXPECT_THAT(*text, HasSubstr("float32[N,8,24,24]"));
  EXPECT_THAT(*text, HasSubstr("\"objections\": []"));
}

TEST(InspectTest, TellsWhatIsWrong) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Normalized()));
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  const std::string model = proto.SerializeAsString();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("inputs, not 2 to 3"));
}

absl::StatusOr<Validation> Validated(const std::string& model, const Options& options = {}) {
  ModelFiles files;
  files.model = model;
  return ValidateModel(files, options, StopCondition());
}

TEST(ValidateTest, TellsWhatAJobWouldMakeOfAModel) {
  const auto good = Validated(Normalized());
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE(good->untouched.ok()) << good->untouched;
  EXPECT_THAT(good->notes, Contains(HasSubstr("'N'")));

  EXPECT_EQ(GetReason(Validated("nonsense").status()), Reason::kModelMalformed);
  const Options no_such_input{.shapes = {{"none", {1}}}};
  EXPECT_EQ(GetReason(Validated(Normalized(), no_such_input).status()), Reason::kOptionInvalid);
}

TEST(ValidateTest, AModelThatNoSizesFitComesBackAsItCame) {
  networks::NetworkBuilder builder("contradiction", 1);
  const std::string x = builder.Input("x", {"2", "length"});
  builder.Output(builder.Reshape(x, {7, 2, 10007}), {"7", "2", "10007"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  const auto odd = Validated(model);
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_EQ(GetReason(odd->untouched), Reason::kShapeMissing);
  const auto bound = Validated(model, {.measure_shapes = {{"x", {2, 70049}}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->untouched.ok()) << bound->untouched;
}

TEST(ValidateTest, AModelThatMemoryCannotHoldComesBackAsItCame) {
  const auto huge = Validated(Branches(), {.measure_shapes = {{"input", {3'600'000, 8, 24, 24}}}});
  ASSERT_TRUE(huge.ok()) << huge.status();
  EXPECT_EQ(GetReason(huge->untouched), Reason::kModelUnsupported);
}

}  // namespace
}  // namespace quotient::optimize
