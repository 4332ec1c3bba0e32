#pragma once

// A test fixture with a client of its own, whose helper process may be stopped and killed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/written_graph.h"
#include "core/os/program_folder.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {

inline constexpr int64_t kGiB = int64_t{1} << 30;

inline HelperOptions Options() {
  return {.program = os::FindBesideProgram("quotient-ort", {""}),
          .library = os::FindBesideProgram("libonnxruntime.so", {"../lib/"}),
          .memory_bytes = 4 * kGiB};
}

inline WrittenGraph Written(const std::string& body) {
  const absl::StatusOr<WrittenGraph> written = WriteGraph(GraphOf({"g", body}));
  EXPECT_THAT(written, quotient::testing::IsOk());
  return *written;
}

// The process that the main thread of this one has started. There is one at a time.
inline pid_t HelperProcess() {
  std::ifstream children(absl::StrCat("/proc/self/task/", getpid(), "/children"));
  pid_t pid = 0;
  children >> pid;
  return pid;
}

inline void SendToHelper(int signal) {
  const pid_t pid = HelperProcess();
  ASSERT_GT(pid, 0) << "0 would be the test's own group";
  kill(pid, signal);
}

class HelperClientTest : public ::testing::Test {
 protected:
  void Start(const HelperOptions& options = Options()) {
    absl::StatusOr<std::unique_ptr<HelperClient>> client = HelperClient::Create(options);
    ASSERT_THAT(client, quotient::testing::IsOk());
    client_ = *std::move(client);
  }

  // y = x + x, for x = 1.
  absl::StatusOr<double> Twice() {
    static const WrittenGraph& graph =
        *new WrittenGraph(Written("input x: float32[1]\ny = Add(x, x)\noutput y\n"));
    QUOTIENT_ASSIGN_OR_RETURN(session_, client_->Load(graph.file, Level::kAll));
    const std::vector<float> one = {1};
    const std::vector<NamedTensor> inputs = {{"in0", model::Tensor::Floats({1}, one)}};
    const std::vector<std::string> outputs = {"out0"};
    QUOTIENT_RETURN_IF_ERROR(client_->Feed(session_, inputs, outputs));
    QUOTIENT_RETURN_IF_ERROR(client_->Run(session_, 3).status());
    const std::vector<model::TensorType> types(1, graph.values.outputs[0].type);
    QUOTIENT_ASSIGN_OR_RETURN(const auto results, client_->Fetch(session_, types));
    return results[0].GetDouble(0);
  }

  void ExpectWorks() {
    ASSERT_OK_AND_ASSIGN(const double result, Twice());
    EXPECT_EQ(result, 2);
  }

  std::unique_ptr<HelperClient> client_;
  SessionId session_;
};

}  // namespace quotient::kernels::onnxruntime
