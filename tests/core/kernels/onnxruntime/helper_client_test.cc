// The helper process with ONNX Runtime: what it computes, and what is left of it when it fails.

#include "core/kernels/onnxruntime/helper_client.h"

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/os/memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/core/kernels/onnxruntime/helper_client_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::IsOk;
using quotient::testing::StatusIs;
using ::testing::HasSubstr;

TEST_F(HelperClientTest, RunsAModel) {
  Start();
  EXPECT_THAT(client_->version(), HasSubstr("1."));
  ExpectWorks();
  ASSERT_OK_AND_ASSIGN(const DeviceReading reading, client_->Run(session_, 100));
  EXPECT_GT(reading.us, 0);
}

TEST_F(HelperClientTest, DumpsTheGraphThatRuns) {
  Start();
  const WrittenGraph graph = Written(
      "input x: float32[4,8]\nconst w: float32[8,8] = random(1)\nconst b: float32[8] = random(2)\n"
      "m = MatMul(x, w)\ny = Add(m, b)\noutput y\n");
  ASSERT_OK_AND_ASSIGN(const Dump dump, client_->Optimize(graph.file));
  EXPECT_THAT(dump.model, HasSubstr("Gemm"));
  EXPECT_EQ(dump.weights, nullptr);
}

TEST_F(HelperClientTest, WeightsOfADumpAreApart) {
  Start();
  const WrittenGraph graph = Written(
      "input x: float32[4,128]\nconst w: float32[128,128] = random(1)\ny = MatMul(x, w)\n"
      "output y\n");
  ASSERT_OK_AND_ASSIGN(const Dump dump, client_->Optimize(graph.file));
  ASSERT_NE(dump.weights, nullptr);
  EXPECT_LT(dump.model.size(), 4096u);
  EXPECT_GE(dump.weights->bytes().size(), 128u * 128 * 4);
  EXPECT_OK(client_->Load(dump.FileOf(dump.model), Level::kOnce));
}

TEST_F(HelperClientTest, WhatIsKeptIsGoneWithItsProcess) {
  Start();
  ExpectWorks();
  StoreId store;
  const std::vector<std::string> kept = {"out0"};
  ASSERT_OK(client_->Keep(session_, kept, &store).status());
  SendToHelper(SIGKILL);
  EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kAborted));
  ExpectWorks();
  const std::vector<KeptTensor> inputs = {{"in0", store, "out0"}};
  EXPECT_THAT(client_->Feed(session_, {}, inputs, kept), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(client_->Keep(session_, kept, &store), StatusIs(absl::StatusCode::kAborted));
}

// y = x + w, and w is in the file weights.
std::string ModelWithAFile() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  for (::onnx::ValueInfoProto* value : {graph.add_input(), graph.add_output()}) {
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_value(1);
  }
  graph.mutable_input(0)->set_name("x");
  graph.mutable_output(0)->set_name("y");
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Add");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  ::onnx::TensorProto& weights = *graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  weights.add_dims(1);
  weights.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* location = weights.add_external_data();
  location->set_key("location");
  location->set_value("weights");
  return model.SerializeAsString();
}

TEST_F(HelperClientTest, FindsNoFilesThatAModelDoesNotBring) {
  const quotient::testing::TempDir folder;
  const std::string weights(4, '\0');
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::ofstream("weights") << weights;
  Start();
  std::filesystem::current_path(before);
  const std::string model = ModelWithAFile();
  EXPECT_THAT(client_->Load({.model = model, .external_data = {{"weights", weights}}}, Level::kAll),
              IsOk());
  EXPECT_FALSE(client_->Load({.model = model}, Level::kAll).ok());
}

TEST_F(HelperClientTest, RefusesWhatIsNoModel) {
  Start();
  EXPECT_THAT(client_->Load({.model = "no model"}, Level::kAll),
              StatusIs(absl::StatusCode::kUnimplemented));
  ExpectWorks();
}

TEST_F(HelperClientTest, RefusesInputsThatTheModelHasNot) {
  Start();
  ExpectWorks();
  const std::vector<float> one = {1};
  const std::vector<NamedTensor> inputs = {{"other", model::Tensor::Floats({1}, one)}};
  const std::vector<std::string> outputs = {"out0"};
  ASSERT_OK(client_->Feed(session_, inputs, outputs));
  EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kUnimplemented));
  ExpectWorks();
}

TEST_F(HelperClientTest, RefusesOutputsOfAnotherType) {
  Start();
  ExpectWorks();
  const std::vector<int64_t> dims = {2};
  const std::vector<model::TensorType> types(1, model::StaticType(model::DType::kFloat32, dims));
  EXPECT_THAT(client_->Fetch(session_, types), StatusIs(absl::StatusCode::kInternal));
  ExpectWorks();
}

TEST_F(HelperClientTest, ForgetsWhatIsUnloaded) {
  Start();
  ExpectWorks();
  client_->Unload(session_);
  EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(HelperClientTest, RestsWhenNothingIsLoaded) {
  Start();
  ExpectWorks();
  client_->Rest();
  EXPECT_TRUE(client_->Has(session_)) << "a session is loaded";
  StoreId store;
  const std::vector<std::string> values = {"out0"};
  ASSERT_OK(client_->Keep(session_, values, &store));
  client_->Rest();
  EXPECT_TRUE(client_->Has({store.process, store.store})) << "a value is kept";
  client_->Drop(store);
  client_->Rest();
  EXPECT_FALSE(client_->Has(session_));
  EXPECT_EQ(client_->failures(), 0);
  ExpectWorks();
}

TEST_F(HelperClientTest, OneAnswerIsLostIfItIsKilled) {
  Start();
  ExpectWorks();
  for (const int signal : {SIGKILL, SIGSEGV}) {
    EXPECT_TRUE(client_->Has(session_));
    SendToHelper(signal);
    EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kAborted));
    EXPECT_FALSE(client_->Has(session_));
    EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kAborted));
    ExpectWorks();
  }
}

TEST_F(HelperClientTest, StaysWhenAllProcessesOfAGroupAreAskedToEnd) {
  Start();
  ExpectWorks();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SendToHelper(signal);
    ASSERT_THAT(client_->Run(session_, 1), IsOk());
  }
}

TEST_F(HelperClientTest, OneAnswerIsLostIfItHangs) {
  HelperOptions options = Options();
  options.run_seconds = 0.2;
  Start(options);
  ExpectWorks();
  SendToHelper(SIGSTOP);
  EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ExpectWorks();
}

TEST_F(HelperClientTest, ACallThatHangsIsGivenUpFromOutside) {
  Start();
  client_->EndHungCall(0);  // There is none.
  ExpectWorks();
  EXPECT_EQ(client_->failures(), 0);
  SendToHelper(SIGSTOP);
  std::atomic<bool> ended = false;
  {
    const std::jthread watcher([&] {
      while (!ended) {
        client_->EndHungCall(3600);  // It has not waited for so long.
        client_->EndHungCall(0);
      }
    });
    EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kDeadlineExceeded));
    ended = true;
  }
  EXPECT_EQ(client_->failures(), 1);
  EXPECT_OK(client_->health());
  ExpectWorks();
}

// Sanitizers need all addresses for themselves, so there a helper has no limit (helper/main.cc).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasMemoryLimit = false;
#else
constexpr bool kHasMemoryLimit = true;
#endif
constexpr char kNoMemoryLimit[] = "a helper's memory is not limited under this sanitizer";

// y = -x, stretched to so many numbers, of which two values consist.
absl::Status RunStretched(HelperClient& client, int64_t numbers) {
  const WrittenGraph graph = Written(absl::StrCat("input x: float32[1]\nz = Expand(x) {shape=[",
                                                  numbers, "]}\ny = Neg(z)\noutput y\n"));
  QUOTIENT_ASSIGN_OR_RETURN(const SessionId session, client.Load(graph.file, Level::kAll));
  const std::vector<float> one = {1};
  const std::vector<NamedTensor> inputs = {{"in0", model::Tensor::Floats({1}, one)}};
  const std::vector<std::string> outputs = {"out0"};
  QUOTIENT_RETURN_IF_ERROR(client.Feed(session, inputs, outputs));
  return client.Run(session, 1).status();
}

TEST_F(HelperClientTest, OneAnswerIsLostIfAModelTakesAllMemory) {
  if (!kHasMemoryLimit) GTEST_SKIP() << kNoMemoryLimit;
  HelperOptions options = Options();
  options.memory_bytes = 2 * kGiB;
  Start(options);
  EXPECT_THAT(RunStretched(*client_, 1073741824), StatusIs(absl::StatusCode::kResourceExhausted));
  ExpectWorks();
}

TEST_F(HelperClientTest, OneAnswerIsLostIfAnInputTakesAllMemory) {
  if (!kHasMemoryLimit) GTEST_SKIP() << kNoMemoryLimit;
  HelperOptions options = Options();
  options.memory_bytes = kGiB / 2;
  Start(options);
  ExpectWorks();
  const std::vector<float> zeros((kGiB / 2 - (1 << 20)) / sizeof(float));
  const std::vector<NamedTensor> inputs = {
      {"in0", model::Tensor::Floats({static_cast<int64_t>(zeros.size())}, zeros)}};
  const std::vector<std::string> outputs = {"out0"};
  EXPECT_THAT(client_->Feed(session_, inputs, outputs),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ExpectWorks();
}

TEST_F(HelperClientTest, WhatThisProcessTakesIsNotLeftToIt) {
  if (!kHasMemoryLimit) GTEST_SKIP() << kNoMemoryLimit;
  HelperOptions options = Options();
  options.memory_bytes = kGiB + os::ResidentBytes();
  Start(options);
  constexpr int64_t kQuarterGiB = kGiB / 4 / sizeof(float);
  EXPECT_OK(RunStretched(*client_, kQuarterGiB));
  const std::vector<char> taken(static_cast<size_t>(3 * kGiB / 4), 'x');
  EXPECT_THAT(RunStretched(*client_, kQuarterGiB), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(taken.back(), 'x');
}

// Under a hard limit that is lower than the helper's own, which could not be set.
TEST_F(HelperClientTest, ALimitThatIsThereAlreadyIsKept) {
  if (!kHasMemoryLimit) GTEST_SKIP() << kNoMemoryLimit;
  const auto start = [] {
    const rlimit limit{3 * kGiB, 3 * kGiB};
    setrlimit(RLIMIT_AS, &limit);
    return HelperClient::Create(Options()).ok() ? 0 : 1;
  };
  EXPECT_EXIT(std::exit(start()), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
