#include "core/optimize/package.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/core/optimize/stage_fixture.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using testing::IsOk;

// y = x * w + b, where b is too small to be external.
std::string Model(float first) {
  ::onnx::ModelProto model = testing::ModelAtOpset(
      17,
      "g (float[4,64] x) => (float[4,64] y) <float[1] b = {3}> { a = MatMul(x, w) y = Add(a, b) }");
  ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(::onnx::TensorProto::FLOAT);
  weight.add_dims(64);
  weight.add_dims(64);
  std::string& bytes = *weight.mutable_raw_data();
  bytes.resize(64 * 64 * sizeof(float));
  reinterpret_cast<float*>(bytes.data())[0] = first;
  return model.SerializeAsString();
}

class PackageTest : public ::testing::Test {
 protected:
  PackageTest() : original_(PreparedFrom(original_bytes_)) {}

  static Prepared PreparedFrom(const std::string& bytes) {
    const ModelFiles files{.name = "m.onnx", .model = bytes};
    absl::StatusOr<Prepared> prepared = Prepare(files, {}, 1, {});
    EXPECT_THAT(prepared.status(), IsOk());
    return *std::move(prepared);
  }

  // The graph of `prepared` as a candidate for the original.
  Packaged PackageOf(const Prepared& prepared) {
    absl::StatusOr<Candidate> candidate = Unrewritten(prepared.graph, prepared.measured, {}, {});
    EXPECT_THAT(candidate.status(), IsOk());
    absl::StatusOr<Packaged> packaged =
        Package(original_, *std::move(candidate), settings_, *costs_, {});
    EXPECT_THAT(packaged.status(), IsOk());
    return *std::move(packaged);
  }

  static const model::Tensor& Weight(const model::Graph& graph) {
    return *std::ranges::find_if(graph.values, [](const model::Value& value) {
              return value.constant.has_value() && value.constant->rank() == 2;
            })->constant;
  }

  const std::unique_ptr<cost::CostModel> costs_ = *cost::NewAnalyticCostModel("model:h200");
  const PackageSettings settings_{.max_opset = 20, .external_location = "m.data", .threads = 1};
  const std::string original_bytes_ = Model(1);
  const Prepared original_;
};

TEST_F(PackageTest, ACandidateHasTheWeightsOfTheOriginalWhereTheyAre) {
  const Packaged candidate = PackageOf(original_);
  EXPECT_EQ(Weight(candidate.prepared.cut.graph).bytes().data(),
            Weight(original_.model.graph).bytes().data());
  EXPECT_LT(candidate.written->model.bytes.size(), 1000u);
}

TEST_F(PackageTest, EqualCandidatesAreEqualModels) {
  const Prepared same = PreparedFrom(original_bytes_);
  const std::string other_bytes = Model(2);
  const Prepared other = PreparedFrom(other_bytes);
  const Packaged candidate = PackageOf(original_);
  EXPECT_EQ(candidate.written->model.bytes, PackageOf(same).written->model.bytes);
  EXPECT_NE(candidate.written->model.bytes, PackageOf(other).written->model.bytes);
}

TEST_F(PackageTest, TheFilesOfAWinnerHaveItsGraph) {
  const Packaged candidate = PackageOf(original_);
  const absl::StatusOr<Delivery> delivery = Deliver(original_, candidate, settings_);
  ASSERT_THAT(delivery.status(), IsOk());
  EXPECT_TRUE(delivery->files.external_data.empty());
  EXPECT_GT(delivery->files.model.size(), 64u * 64 * sizeof(float));
  EXPECT_EQ(model::GraphDigest(PreparedFrom(delivery->files.model).model.graph),
            model::GraphDigest(candidate.prepared.model.graph));
}

// The tensor of an operator that is not understood goes from one file to another.
TEST_F(PackageTest, TensorsOfOpaqueNodesMayBeInFiles) {
  ::onnx::ModelProto model = testing::ModelAtOpset(
      17, "g (float[4] x) => (float[4] y) { a = Relu(x) y = com.acme.Foo(a) }");
  model.add_opset_import()->set_domain("com.acme");
  model.mutable_opset_import(1)->set_version(1);
  ::onnx::AttributeProto& table = *model.mutable_graph()->mutable_node(1)->add_attribute();
  table.set_name("table");
  table.set_type(::onnx::AttributeProto::TENSOR);
  table.mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  table.mutable_t()->add_dims(4);
  table.mutable_t()->set_data_location(::onnx::TensorProto::EXTERNAL);
  ::onnx::StringStringEntryProto& location = *table.mutable_t()->add_external_data();
  location.set_key("location");
  location.set_value("original.data");
  const std::string bytes = model.SerializeAsString();
  const std::string weights(4 * sizeof(float), 'w');
  const ModelFiles files{
      .name = "m.onnx", .model = bytes, .external_data = {{"original.data", weights}}};
  const absl::StatusOr<Prepared> original = Prepare(files, {}, 1, {});
  ASSERT_THAT(original.status(), IsOk());
  absl::StatusOr<Candidate> candidate = Unrewritten(original->graph, original->measured, {}, {});
  ASSERT_THAT(candidate.status(), IsOk());
  const absl::StatusOr<Packaged> packaged =
      Package(*original, *std::move(candidate), settings_, *costs_, {});
  ASSERT_THAT(packaged.status(), IsOk());
  const absl::StatusOr<Delivery> delivery = Deliver(*original, *packaged, settings_);
  ASSERT_THAT(delivery.status(), IsOk());
  EXPECT_EQ(delivery->files.external_data, weights);
}

TEST_F(PackageTest, WhatWasNotCheckedIsNotDelivered) {
  const std::string other_bytes = Model(2);
  const Prepared other = PreparedFrom(other_bytes);
  Packaged candidate = PackageOf(original_);
  candidate.written = PackageOf(other).written;
  EXPECT_TRUE(absl::IsInternal(Deliver(original_, candidate, settings_).status()));
}

class PackageCandidatesTest : public StageTest {
 protected:
  // Two graphs with a constant to fold, which takes time.
  Candidates TwoCandidates() {
    Candidates candidates;
    for (const char* op : {"Add", "Sub"}) {
      Candidate& candidate = candidates.found.emplace_back(CandidateOf(
          absl::StrCat("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { c = Exp(w) y = ", op,
                       "(x, c) }")));
      candidate.found = candidates.found.size() - 1;
    }
    return candidates;
  }
};

TEST_F(PackageCandidatesTest, AllAreWrittenInTime) {
  ReadAndPredict("g (float[2] x) => (float[2] y) { a = Exp(x) y = Mul(a, x) }");
  ASSERT_OK_AND_ASSIGN(const PackagedCandidates packaged,
                       PackageCandidates(*job_, *baseline_, TwoCandidates()));
  EXPECT_EQ(packaged.written.size(), 2u);
  EXPECT_FALSE(packaged.time_was_up);
}

// That there is no time is no defect of a candidate: no rule is to blame for it.
TEST_F(PackageCandidatesTest, OneIsWrittenEvenIfTimeIsUpAndTheOthersAreNoFailures) {
  ReadAndPredict("g (float[2] x) => (float[2] y) { a = Exp(x) y = Mul(a, x) }");
  clock_.Advance(1e6 * options_.budget_seconds);
  ASSERT_OK_AND_ASSIGN(const PackagedCandidates packaged,
                       PackageCandidates(*job_, *baseline_, TwoCandidates()));
  ASSERT_EQ(packaged.written.size(), 1u);
  EXPECT_EQ(packaged.written[0].found, 0u);
  EXPECT_TRUE(packaged.time_was_up);
  EXPECT_EQ(packaged.failures.size(), 0u);
}

}  // namespace
}  // namespace quotient::optimize
