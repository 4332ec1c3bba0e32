// What is known of a session's outputs when it has ended, and sessions that read them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/onnxruntime/shared_client.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;

class KeepTest : public ::testing::Test {
 protected:
  static absl::StatusOr<SessionId> Load(const std::string& body) {
    QUOTIENT_ASSIGN_OR_RETURN(const WrittenGraph graph, WriteGraph(GraphOf({"g", body})));
    return SharedClient().Load(graph.file, Level::kOnce);
  }

  // A session that has computed y = x + x.
  static absl::StatusOr<SessionId> Doubled(std::span<const NamedTensor> inputs,
                                           std::span<const KeptTensor> kept) {
    QUOTIENT_ASSIGN_OR_RETURN(const SessionId session,
                              Load("input x: float32[1]\ny = Add(x, x)\noutput y\n"));
    QUOTIENT_RETURN_IF_ERROR(SharedClient().Feed(session, inputs, kept, kOutputs));
    QUOTIENT_RETURN_IF_ERROR(SharedClient().Run(session, 1).status());
    return session;
  }
  static absl::StatusOr<SessionId> DoubledOne() {
    const std::vector<float> one = {1};
    const std::vector<NamedTensor> inputs = {{"in0", model::Tensor::Floats({1}, one)}};
    return Doubled(inputs, {});
  }

  static inline const std::vector<std::string> kOutputs = {"out0"};
};

TEST_F(KeepTest, WhatIsKeptIsReadByOtherSessions) {
  StoreId store;
  ASSERT_OK_AND_ASSIGN(const SessionId one, DoubledOne());
  ASSERT_OK_AND_ASSIGN(const std::vector<OutputSummary> two,
                       SharedClient().Keep(one, kOutputs, &store));
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(ToString(two[0].type), "float32[1]");
  EXPECT_EQ(two[0].content->GetDouble(0), 2);
  EXPECT_THAT(SharedClient().Run(one, 1), StatusIs(absl::StatusCode::kNotFound)) << "it has ended";

  const std::vector<KeptTensor> inputs = {{"in0", store, "out0"}};
  ASSERT_OK_AND_ASSIGN(const SessionId other, Doubled({}, inputs));
  const StoreId same = store;
  ASSERT_OK_AND_ASSIGN(const std::vector<OutputSummary> four,
                       SharedClient().Keep(other, kOutputs, &store));
  EXPECT_EQ(four[0].content->GetDouble(0), 4);
  EXPECT_EQ(store.store, same.store);
  SharedClient().Drop(store);
}

TEST_F(KeepTest, WhatIsNotKeptCannotBeRead) {
  StoreId store;
  ASSERT_OK_AND_ASSIGN(const SessionId session, DoubledOne());
  ASSERT_OK_AND_ASSIGN(const std::vector<OutputSummary> told,
                       SharedClient().Keep(session, {}, &store));
  EXPECT_EQ(told.size(), 1u);
  const std::vector<KeptTensor> inputs = {{"in0", store, "out0"}};
  EXPECT_THAT(Doubled({}, inputs), StatusIs(absl::StatusCode::kNotFound));
  SharedClient().Drop(store);
  EXPECT_THAT(Doubled({}, inputs), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const SessionId other, DoubledOne());
  EXPECT_THAT(SharedClient().Keep(other, kOutputs, &store), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(KeepTest, TellsWhatTimesDependOn) {
  ASSERT_OK_AND_ASSIGN(
      const SessionId session,
      Load("input x: float32[8]\ninput n: int64[100]\ny = Neg(x)\nm = Neg(n)\noutput y\n"
           "output m\n"));
  const std::vector<float> floats = {0, 1, 1e-40F, -1e-40F, 1, 1, 1, 1};
  std::vector<int64_t> integers(100, 5);
  integers[3] = -7;
  const std::vector<NamedTensor> inputs = {{"in0", model::Tensor::Floats({8}, floats)},
                                           {"in1", model::Tensor::Ints({100}, integers)}};
  const std::vector<std::string> names = {"out0", "out1"};
  ASSERT_OK(SharedClient().Feed(session, inputs, names));
  ASSERT_OK(SharedClient().Run(session, 1).status());
  StoreId store;
  ASSERT_OK_AND_ASSIGN(const std::vector<OutputSummary> outputs,
                       SharedClient().Keep(session, {}, &store));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].subnormal_share, 0.25);
  EXPECT_FALSE(outputs[0].content.has_value());
  EXPECT_EQ(outputs[1].least, -5);
  EXPECT_EQ(outputs[1].most, 7);
  SharedClient().Drop(store);
}

// More than are looked at at a time.
TEST_F(KeepTest, TellsTheLeastAndTheMostOfMany) {
  ASSERT_OK_AND_ASSIGN(const SessionId session,
                       Load("input n: int64[10000]\nm = Neg(n)\noutput m\n"));
  std::vector<int64_t> integers(10000, 0);
  integers.front() = 3;
  integers.back() = -9;
  const std::vector<NamedTensor> inputs = {{"in0", model::Tensor::Ints({10000}, integers)}};
  ASSERT_OK(SharedClient().Feed(session, inputs, kOutputs));
  ASSERT_OK(SharedClient().Run(session, 1).status());
  StoreId store;
  ASSERT_OK_AND_ASSIGN(const std::vector<OutputSummary> outputs,
                       SharedClient().Keep(session, {}, &store));
  EXPECT_EQ(outputs[0].least, -3);
  EXPECT_EQ(outputs[0].most, 9);
  SharedClient().Drop(store);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
