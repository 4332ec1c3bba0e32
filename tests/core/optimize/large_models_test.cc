// Models with very many operands or nodes of one kind. What would grow with the square of their
// number takes hours, so that the test runs into its limit; as it is each takes a second or two.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/timing/store.h"

namespace quotient::optimize {
namespace {

// A float32 model of opset 17, node by node.
class LargeModel {
 public:
  LargeModel() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    model_.mutable_graph()->set_name("large");
  }

  void Input(const std::string& name, std::vector<int64_t> dims) {
    Declare(name, dims, model_.mutable_graph()->add_input());
  }
  void Output(const std::string& name, std::vector<int64_t> dims) {
    Declare(name, dims, model_.mutable_graph()->add_output());
  }
  void Weight(const std::string& name, std::vector<int64_t> dims, float value) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    for (int64_t i = 0; i < count; ++i) tensor.add_float_data(value + static_cast<float>(i));
  }
  void Integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return node;
  }
  void Concat(const std::vector<std::string>& inputs, const std::string& output, int axis) {
    onnx::AttributeProto& attribute = *Node("Concat", inputs, {output}).add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(axis);
  }
  std::string Bytes() const { return model_.SerializeAsString(); }

 private:
  static void Declare(const std::string& name, const std::vector<int64_t>& dims,
                      onnx::ValueInfoProto* value) {
    value->set_name(name);
    onnx::TypeProto::Tensor& type = *value->mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }

  onnx::ModelProto model_;
};

std::vector<std::string> Names(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

class LargeModelsTest : public ::testing::Test {
 protected:
  LargeModelsTest() {
    options_.device = "model:h200";
    options_.threads = 1;
    options_.budget_seconds = 1;
    options_.verify_inputs = 1;
  }

  // Whatever came of it, it is a model that was read, searched and, if it changed, checked. It has
  // a journal.
  void ExpectDone(const LargeModel& model) {
    const std::string bytes = model.Bytes();
    ModelFiles files;
    files.name = "large.onnx";
    files.model = bytes;
    const auto result = Optimize(files, options_, environment_, StopCondition(), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    const report::Verification& verification = result->report.verification;
    EXPECT_EQ(verification.passed, verification.inputs > 0);
    EXPECT_TRUE(verification.passed || result->files.model == bytes);
    EXPECT_FALSE(result->files.model.empty());
    EXPECT_NE(result->journal, "");
    for (const std::string& note : result->report.notes) {
      EXPECT_EQ(note.find("please report"), std::string::npos) << note;
    }
  }

  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
  Environment environment_{.devices = &devices_, .clock = Clock::System()};
  Options options_;
};

TEST_F(LargeModelsTest, ConcatOfManyInputs) {
  constexpr int kCount = 100'000;
  LargeModel model;
  for (const std::string& name : Names("x", kCount)) model.Input(name, {1, 4});
  model.Concat(Names("x", kCount), "y", 0);
  model.Output("y", {kCount, 4});
  ExpectDone(model);
}

TEST_F(LargeModelsTest, ConcatOfOneContractionManyTimes) {
  constexpr int kCount = 100'000;
  LargeModel model;
  model.Input("x", {2, 4});
  model.Weight("w", {4, 2}, 0);
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Concat(std::vector<std::string>(kCount, "product"), "joined", 0);
  model.Node("Relu", {"joined"}, {"y"});
  model.Output("y", {2 * kCount, 2});
  ExpectDone(model);
}

TEST_F(LargeModelsTest, ManyProductsOfOneInputInOneConcat) {
  constexpr int kCount = 20'000;
  LargeModel model;
  model.Input("x", {2, 4});
  for (int i = 0; i < kCount; ++i) {
    model.Weight(absl::StrCat("w", i), {4, 2}, static_cast<float>(i) / kCount);
    model.Node("MatMul", {"x", absl::StrCat("w", i)}, {absl::StrCat("v", i)});
  }
  model.Concat(Names("v", kCount), "y", 1);
  model.Output("y", {2, 2 * kCount});
  ExpectDone(model);
}

TEST_F(LargeModelsTest, MaximumOfManyNodes) {
  constexpr int kCount = 20'000;
  LargeModel model;
  for (int i = 0; i < kCount; ++i) {
    model.Input(absl::StrCat("x", i), {2});
    model.Node("Sigmoid", {absl::StrCat("x", i)}, {absl::StrCat("v", i)});
  }
  model.Node("Max", Names("v", kCount), {"y"});
  model.Output("y", {2});
  ExpectDone(model);
}

TEST_F(LargeModelsTest, SplitIntoManyParts) {
  constexpr int kCount = 30'000;
  LargeModel model;
  model.Input("x", {kCount, 4});
  model.Integers("sizes", std::vector<int64_t>(kCount, 1));
  model.Node("Split", {"x", "sizes"}, Names("part", kCount));
  for (int i = 0; i < kCount; ++i) {
    model.Node("Sigmoid", {absl::StrCat("part", i)}, {absl::StrCat("v", i)});
  }
  model.Concat(Names("v", kCount), "y", 0);
  model.Output("y", {kCount, 4});
  ExpectDone(model);
}

// Every two of them overlap, so none can be outputs of one Split.
TEST_F(LargeModelsTest, ManySlicesInsideEachOther) {
  constexpr int kCount = 10'000;
  LargeModel model;
  model.Input("x", {2 * kCount});
  for (int i = 0; i <= 2 * kCount; ++i) model.Integers(absl::StrCat("at", i), {i});
  for (int i = 0; i < kCount; ++i) {
    model.Node("Slice", {"x", absl::StrCat("at", i), absl::StrCat("at", 2 * kCount - i)},
               {absl::StrCat("slice", i)});
    model.Node("ReduceMax", {absl::StrCat("slice", i)}, {absl::StrCat("v", i)});
    model.Output(absl::StrCat("v", i), {1});
  }
  ExpectDone(model);
}

// What a Slice takes of a Concat could be a Concat of as many parts again.
TEST_F(LargeModelsTest, ManySlicesOfAConcatOfManyInputs) {
  constexpr int kCount = 10'000;
  LargeModel model;
  for (const std::string& name : Names("x", kCount)) model.Input(name, {2});
  model.Concat(Names("x", kCount), "joined", 0);
  for (int i = 0; i <= kCount; ++i) model.Integers(absl::StrCat("at", i), {2 * i});
  for (int i = 0; i < kCount; ++i) {
    model.Node("Slice", {"joined", absl::StrCat("at", i), absl::StrCat("at", i + 1)},
               {absl::StrCat("v", i)});
    model.Output(absl::StrCat("v", i), {2});
  }
  ExpectDone(model);
}

// Each node on the way up reads its partner on the way down: to leave one out leaves out all that
// is between them.
TEST_F(LargeModelsTest, DeepWaysDownAndUp) {
  constexpr int kDepth = 10'000;
  LargeModel model;
  model.Input("x", {2});
  for (int i = 0; i < kDepth; ++i) {
    model.Node("Sigmoid", {i == 0 ? "x" : absl::StrCat("down", i - 1)}, {absl::StrCat("down", i)});
  }
  for (int i = kDepth - 1; i >= 0; --i) {
    const bool is_first = i == kDepth - 1;
    const std::string below = is_first ? absl::StrCat("down", i) : absl::StrCat("up", i + 1);
    model.Node("Add", {below, absl::StrCat("down", i)}, {absl::StrCat("up", i)});
  }
  model.Output("up0", {2});
  ExpectDone(model);
}

}  // namespace
}  // namespace quotient::optimize
