#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/report/report.h"
#include "tests/core/optimize/optimize_fixture.h"

// Models that cannot be optimized, or not as a whole: they come back, and the report says why.

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using OddModelsTest = OptimizeTest;

// An index that is computed and out of range whatever is drawn: a good model all the same.
TEST_F(OddModelsTest, AModelThatTakesNoRandomInputsComesBack) {
  networks::NetworkBuilder builder("far", 1);
  const std::string rows = builder.Concat({builder.Relu(builder.Input("x", {"4", "3"}))}, 0);
  builder.Output("picked", {"2", "3"});
  ::onnx::ModelProto proto = std::move(builder).Build();
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  ::onnx::ValueInfoProto& index = *graph.add_input();
  index.set_name("index");
  index.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::INT64);
  index.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
  ::onnx::TensorProto& hundred = *graph.add_initializer();
  hundred.set_name("hundred");
  hundred.set_data_type(::onnx::TensorProto::INT64);
  hundred.add_int64_data(100);
  const auto add_node = [&](const char* op, std::vector<std::string> inputs, const char* output) {
    ::onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  };
  add_node("Add", {"index", "hundred"}, "far");
  add_node("Gather", {rows, "far"}, "picked");
  const std::string model = proto.SerializeAsString();
  for (const char* device : {"model:h200", "cpu"}) {
    options_.device = device;
    const auto result = Run(model);
    ASSERT_TRUE(result.ok()) << device << ": " << result.status();
    EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
    EXPECT_EQ(result->files.model, model);
    EXPECT_THAT(result->report.notes, Contains(HasSubstr("random inputs")));
  }
}

// The report of a model that came back although it could not be read or prepared.
void ExpectPassedThrough(const absl::StatusOr<Result>& result, const std::string& model,
                         Reason reason, const char* words) {
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files.model, model);
  const report::Report& report = result->report;
  EXPECT_EQ(report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(report.passed_through, ReasonName(reason));
  EXPECT_THAT(report.notes, Contains(HasSubstr(words)));
  EXPECT_THAT(
      report::ToTable(report),
      ::testing::AllOf(HasSubstr(words), ::testing::Not(::testing::ContainsRegex("[0-9] us"))));
  EXPECT_THAT(report::ToHtml(report), HasSubstr("came back byte for byte"));
  const auto back = report::ReportFromJson(report::ToJson(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->passed_through, report.passed_through);
}

// Each tensor is below the limit of 64 GiB, together they are more than a machine has.
TEST_F(OddModelsTest, AModelThatMemoryCannotHoldComesBack) {
  options_.measure_shapes = {{"input", {3'600'000, 8, 24, 24}}};
  for (const char* device : {"model:h200", "cpu"}) {
    options_.device = device;
    const std::string model = Branches();
    ExpectPassedThrough(Run(model), model, Reason::kModelUnsupported, "--measure-shape");
  }
}

// The product of two matrices that do not fit.
TEST_F(OddModelsTest, ANodeThatMakesNoSensePassesThroughAndTheRestIsOptimized) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  auto* node = proto.mutable_graph()->add_node();
  node->set_op_type("MatMul");
  node->set_name("senseless");
  for (int i = 0; i < 2; ++i) node->add_input(proto.graph().output(0).name());
  node->add_output("product");
  auto* product = proto.mutable_graph()->add_output();
  product->set_name("product");
  product->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  auto* dead = proto.mutable_graph()->add_node();
  dead->set_op_type("NoSuchOperator");
  dead->set_name("dead");
  dead->add_input("product");
  dead->add_output("unread");
  for (auto* value :
       {proto.mutable_graph()->mutable_input(0), proto.mutable_graph()->mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(2);
  }
  const auto result = Run(proto.SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("left as it is: ")).Times(1));
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("'senseless' (MatMul): MatMul")).Times(0))
      << "a node is named once";
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("senseless")));
  ASSERT_TRUE(proto.ParseFromString(result->files.model));
  EXPECT_EQ(std::count_if(proto.graph().node().begin(), proto.graph().node().end(),
                          [](const auto& each) { return each.name() == "senseless"; }),
            1);
}

TEST_F(OddModelsTest, WhereNoDimensionsMakeSenseTheUserIsAskedForThem) {
  networks::NetworkBuilder builder("contradiction", 1);
  const std::string x = builder.Input("x", {"2", "length"});
  builder.Output(builder.Reshape(x, {7, 2, 10007}), {"7", "2", "10007"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  ExpectPassedThrough(Run(model), model, Reason::kShapeMissing, "--measure-shape x=DIMS");
  ExpectPassedThrough(Run(model), model, Reason::kShapeMissing, "'length' of input 'x'");
  options_.measure_shapes["x"] = {2, 70049};
  const auto bound = Run(model);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->report.passed_through, "");
}

TEST_F(OddModelsTest, ModelsThatAreNotUnderstoodComeBackUntouched) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Normalized()));
  ::onnx::ModelProto newer = proto, nameless = proto;
  newer.mutable_opset_import(0)->set_version(999);
  const std::string of_the_future = newer.SerializeAsString();
  ExpectPassedThrough(Run(of_the_future), of_the_future, Reason::kOpsetUnknown, "opset 999");
  nameless.mutable_graph()->mutable_node(0)->set_name("\xc3\x28");
  const std::string not_text = nameless.SerializeAsString();
  ExpectPassedThrough(Run(not_text), not_text, Reason::kModelUnsupported, "not UTF-8");
  // What is malformed is refused all the same.
  newer.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_EQ(GetReason(Run(newer.SerializeAsString()).status()), Reason::kModelMalformed);
}

TEST_F(OddModelsTest, WhatOnnxsCheckerObjectsToIsToldAndTheRestIsOptimized) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  auto* node = proto.mutable_graph()->add_node();
  node->set_op_type("Mystery");
  node->add_input(proto.graph().output(0).name());
  node->add_output("mystery");
  *proto.mutable_graph()->add_output() = proto.graph().output(0);
  proto.mutable_graph()->mutable_output(1)->set_name("mystery");
  const auto result = Run(proto.SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("has no such operator")));
}

// By the letter of the standard such weights are no constants, unless the user says so.
TEST_F(OddModelsTest, WeightsThatAreInputsAreFrozenOnDemand) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Branches()));
  const int interface = proto.graph().input_size();
  for (const ::onnx::TensorProto& tensor : proto.graph().initializer()) {
    auto* input = proto.mutable_graph()->add_input();
    input->set_name(tensor.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    for (int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  const int weights = proto.graph().initializer_size();
  const std::string model = proto.SerializeAsString();
  const auto kept = Run(model);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->report.notes,
              Contains(HasSubstr(absl::StrCat(weights, " initializers are inputs, too"))));
  EXPECT_EQ(kept->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(kept->files.model, model);

  options_.freeze_initializers = true;
  const auto frozen = Run(model);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(frozen->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(frozen->report.notes, Contains(HasSubstr("--freeze-initializers")));
  ASSERT_TRUE(proto.ParseFromString(frozen->files.model));
  EXPECT_EQ(proto.graph().input_size(), interface);
}

}  // namespace
}  // namespace quotient::optimize
