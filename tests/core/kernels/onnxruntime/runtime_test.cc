#include "core/kernels/onnxruntime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "core/os/program_folder.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::IsOk;
using quotient::testing::ModelAtOpset;
using quotient::testing::OpsOf;
using quotient::testing::ParseBytes;
using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kFloat = 1;  // TensorProto.FLOAT

HostTensor Floats(const std::string& name, const std::vector<float>& values) {
  HostTensor tensor{.name = name, .dtype = kFloat, .dims = {static_cast<int64_t>(values.size())}};
  tensor.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return tensor;
}

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// ONNX Runtime has one environment per process, which all tests use.
const Runtime& SharedRuntime() {
  static const auto& runtime = *new absl::StatusOr<std::unique_ptr<Runtime>>(
      []() -> absl::StatusOr<std::unique_ptr<Runtime>> {
        QUOTIENT_ASSIGN_OR_RETURN(const Library library, LoadLibrary(os::FindBesideProgram(
                                                             "libonnxruntime.so", {"../lib/"})));
        return Runtime::Create(library, /*threads=*/1);
      }());
  EXPECT_THAT(runtime, IsOk());
  return **runtime;
}

// Loads a model from a file, which is gone afterwards, as is the file "weights" beside it.
absl::StatusOr<std::unique_ptr<Session>> LoadBytes(const std::string& bytes,
                                                   const LoadOptions& how = {},
                                                   const std::string& weights = "") {
  const quotient::testing::TempDir folder;
  std::ofstream(folder / "model.onnx") << bytes;
  if (!weights.empty()) std::ofstream(folder / "weights") << weights;
  return SharedRuntime().Load(folder / "model.onnx", how);
}

absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& graph_text) {
  return LoadBytes(ModelAtOpset(17, graph_text).SerializeAsString());
}

constexpr char kSumAndNegation[] =
    "g (float[N] x) => (float[N] s, float[N] n) { s = Add(x, x) n = Neg(s) }";

class SessionTest : public ::testing::Test {
 protected:
  void Start(const std::string& graph_text) {
    absl::StatusOr<std::unique_ptr<Session>> session = Load(graph_text);
    ASSERT_THAT(session, IsOk());
    session_ = *std::move(session);
  }
  absl::Status Feed(const std::vector<float>& x, std::vector<std::string> outputs) {
    std::vector<HostTensor> inputs;
    inputs.push_back(Floats("x", x));
    return session_->Feed(std::move(inputs), std::move(outputs));
  }

  absl::StatusOr<std::vector<TensorView>> Outputs() const {
    std::vector<TensorView> outputs(session_->num_outputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(outputs[i], session_->Output(i));
    }
    return outputs;
  }

  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ComputesTheOutputsThatAreAskedForInThatOrder) {
  Start(kSumAndNegation);
  ASSERT_OK(Feed({1, -3}, {"n", "s"}));
  ASSERT_OK(session_->Run(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorView> outputs, Outputs());
  ASSERT_THAT(outputs, SizeIs(2));
  EXPECT_EQ(outputs[0].name, "n");
  EXPECT_EQ(outputs[0].dtype, kFloat);
  EXPECT_THAT(outputs[0].dims, ElementsAre(2));
  EXPECT_THAT(Values(outputs[0]), ElementsAre(-2, 6));
  EXPECT_EQ(outputs[1].name, "s");
  EXPECT_THAT(Values(outputs[1]), ElementsAre(2, -6));
}

// What one run computed stays until the next, and does not pile up.
TEST_F(SessionTest, ManyRunsLeaveTheOutputsOfTheLast) {
  Start(kSumAndNegation);
  ASSERT_OK(Feed({4}, {"s"}));
  ASSERT_OK(session_->Run(5));
  EXPECT_EQ(session_->num_outputs(), 1u);
  ASSERT_OK_AND_ASSIGN(const TensorView output, session_->Output(0));
  EXPECT_THAT(Values(output), ElementsAre(8));
}

TEST_F(SessionTest, FeedingAgainReplacesInputsAndForgetsOutputs) {
  Start(kSumAndNegation);
  ASSERT_OK(Feed({1}, {"s", "n"}));
  ASSERT_OK(session_->Run(1));
  ASSERT_OK(Feed({1, 2, 3}, {"s"}));
  EXPECT_EQ(session_->num_outputs(), 0u);
  ASSERT_OK(session_->Run(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorView> outputs, Outputs());
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(Values(outputs[0]), ElementsAre(2, 4, 6));
}

TEST_F(SessionTest, InputsAndOutputsThatTheModelLacksAreRefusedByTheRun) {
  Start(kSumAndNegation);
  std::vector<HostTensor> inputs;
  inputs.push_back(Floats("other", {1}));
  ASSERT_OK(session_->Feed(std::move(inputs), {"s"}));
  EXPECT_THAT(session_->Run(1), StatusIs(absl::StatusCode::kUnimplemented));
  ASSERT_OK(Feed({1}, {"other"}));
  EXPECT_THAT(session_->Run(1), StatusIs(absl::StatusCode::kUnimplemented));
  ASSERT_OK(Feed({1}, {"s"}));
  EXPECT_OK(session_->Run(1));
}

TEST_F(SessionTest, BytesThatAreTooFewForTheirTypeAreRefused) {
  Start(kSumAndNegation);
  HostTensor cut = Floats("x", {1, 2});
  cut.bytes.resize(4);
  std::vector<HostTensor> inputs;
  inputs.push_back(std::move(cut));
  EXPECT_FALSE(session_->Feed(std::move(inputs), {"s"}).ok());
}

TEST_F(SessionTest, WhatIsNoTensorOfNumbersCannotBeTold) {
  Start("g (float[N] x) => (seq(float[N]) s) { s = SequenceConstruct(x) }");
  ASSERT_OK(Feed({1}, {"s"}));
  ASSERT_OK(session_->Run(1));
  EXPECT_EQ(session_->num_outputs(), 1u);
  EXPECT_THAT(session_->Output(0), StatusIs(absl::StatusCode::kUnimplemented));

  Start("g (float[N] x) => (string[N] s) { s = Cast <to = 8> (x) }");
  ASSERT_OK(Feed({1}, {"s"}));
  ASSERT_OK(session_->Run(1));
  EXPECT_THAT(session_->Output(0), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(SessionTest, AnOutputMayBeEmptyOrAScalar) {
  Start("g (float[N] x) => (float[N] y, float z) { y = Neg(x) z = ReduceSum <keepdims = 0> (x) }");
  ASSERT_OK(Feed({}, {"y", "z"}));
  ASSERT_OK(session_->Run(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorView> outputs, Outputs());
  ASSERT_THAT(outputs, SizeIs(2));
  EXPECT_THAT(outputs[0].dims, ElementsAre(0));
  EXPECT_THAT(outputs[0].bytes, IsEmpty());
  EXPECT_THAT(outputs[1].dims, IsEmpty());
  EXPECT_THAT(Values(outputs[1]), ElementsAre(0));
}

// By itself ONNX Runtime makes one operator of these two.
constexpr char kProduct[] =
    "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {5, 6}>"
    " { m = MatMul(x, w) y = Add(m, b) }";

// The operators of the graph that runs.
std::string OpsThatRun(const std::string& model, LoadOptions how) {
  const quotient::testing::TempDir folder;
  how.dump = folder / "dump.onnx";
  how.dump_weights = "dump.weights";
  EXPECT_OK(LoadBytes(model, how).status());
  absl::StatusOr<std::string> dump = os::ReadFile(how.dump);
  EXPECT_THAT(dump, IsOk());
  return OpsOf(ParseBytes(*dump));
}

TEST(RuntimeTest, WhatIsLargeInADumpHasAFileOfItsOwn) {
  ::onnx::ModelProto model =
      ModelAtOpset(17, "g (float[500] x) => (float[500] y) { y = Add(x, w) }");
  ::onnx::TensorProto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(kFloat);
  weights.add_dims(500);
  weights.set_raw_data(std::string(2000, 'w'));
  const quotient::testing::TempDir folder;
  ASSERT_OK(LoadBytes(model.SerializeAsString(),
                      {.dump = folder / "dump.onnx", .dump_weights = "dump.weights"})
                .status());
  ASSERT_OK_AND_ASSIGN(const std::string dump, os::ReadFile(folder / "dump.onnx"));
  EXPECT_LT(dump.size(), 1000u);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, os::ReadFile(folder / "dump.weights"));
  EXPECT_THAT(bytes, HasSubstr(std::string(2000, 'w')));
}

TEST(RuntimeTest, TheDumpIsTheGraphThatRuns) {
  const std::string bytes = ModelAtOpset(17, kProduct).SerializeAsString();
  EXPECT_EQ(OpsThatRun(bytes, {}), "Gemm");
  EXPECT_EQ(OpsThatRun(bytes, {.runs_often = false}), "Gemm");
  EXPECT_EQ(OpsThatRun(bytes, {.optimizes = false}), "MatMul,Add");
}

TEST(RuntimeTest, ModelsThatRunOnceComputeTheSame) {
  const std::string bytes = ModelAtOpset(17, kProduct).SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       LoadBytes(bytes, {.runs_often = false}));
  std::vector<HostTensor> inputs;
  inputs.push_back(Floats("x", {1, 0, 0, 1}));
  inputs.back().dims = {2, 2};
  ASSERT_OK(session->Feed(std::move(inputs), {"y"}));
  ASSERT_OK(session->Run(1));
  ASSERT_OK_AND_ASSIGN(const TensorView output, session->Output(0));
  EXPECT_THAT(Values(output), ElementsAre(6, 8, 8, 10));
}

TEST(RuntimeTest, ARunThatPlansComputesTheSameAsTheNext) {
  const std::string bytes = ModelAtOpset(17, kProduct).SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       LoadBytes(bytes, {.first_run_plans = true}));
  std::vector<HostTensor> inputs;
  inputs.push_back(Floats("x", {1, 0, 0, 1}));
  inputs.back().dims = {2, 2};
  ASSERT_OK(session->Feed(std::move(inputs), {"y"}));
  for (const bool plans : {true, false, false}) {
    EXPECT_EQ(session->plans(), plans);
    ASSERT_OK(session->Run(1));
    ASSERT_OK_AND_ASSIGN(const TensorView output, session->Output(0));
    EXPECT_THAT(Values(output), ElementsAre(6, 8, 8, 10));
  }
}

TEST(RuntimeTest, WhatIsNoModelThatItRunsIsRefused) {
  EXPECT_THAT(LoadBytes("no model"), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Load("g (float[N] x) => (float[N] y) { y = Fancy(x) }"),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// y = x + w, and w is in the file "weights".
std::string ModelWithAFile() {
  ::onnx::ModelProto model = ModelAtOpset(17, "g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  ::onnx::TensorProto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  weights.add_dims(2);
  weights.set_data_location(::onnx::TensorProto::EXTERNAL);
  ::onnx::StringStringEntryProto& location = *weights.add_external_data();
  location.set_key("location");
  location.set_value("weights");
  return model.SerializeAsString();
}

// Weights are mapped from their file, which need not stay.
TEST(RuntimeTest, WeightsComeFromAFileBesideTheModel) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       LoadBytes(ModelWithAFile(), {}, Floats("", {10, 20}).bytes));
  std::vector<HostTensor> inputs;
  inputs.push_back(Floats("x", {1, 2}));
  ASSERT_OK(session->Feed(std::move(inputs), {"y"}));
  ASSERT_OK(session->Run(1));
  ASSERT_OK_AND_ASSIGN(const TensorView output, session->Output(0));
  EXPECT_THAT(Values(output), ElementsAre(11, 22));
}

TEST(RuntimeTest, AModelWhoseWeightsDidNotComeIsRefused) {
  EXPECT_THAT(LoadBytes(ModelWithAFile()), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(RuntimeTest, SessionsDoNotDisturbEachOther) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> twice,
                       Load("g (float[N] x) => (float[N] y) { y = Add(x, x) }"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> negated,
                       Load("g (float[N] x) => (float[N] y) { y = Neg(x) }"));
  for (Session* const session : {twice.get(), negated.get()}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(Floats("x", {3}));
    ASSERT_OK(session->Feed(std::move(inputs), {"y"}));
  }
  ASSERT_OK(twice->Run(1));
  ASSERT_OK(negated->Run(1));
  ASSERT_OK_AND_ASSIGN(const TensorView first, twice->Output(0));
  ASSERT_OK_AND_ASSIGN(const TensorView second, negated->Output(0));
  EXPECT_THAT(Values(first), ElementsAre(6));
  EXPECT_THAT(Values(second), ElementsAre(-3));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
