// Whole graphs through ONNX Runtime against the reference evaluator.

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/kernels/onnxruntime/ort_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::HasSubstr;

const Backend& SharedBackend() {
  static const auto& backend =
      *new absl::StatusOr<std::unique_ptr<Backend>>(NewBackend(kCpuDevice, 1, {}));
  EXPECT_THAT(backend, quotient::testing::IsOk());
  return **backend;
}

std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid; file >> pid;) children.push_back(pid);
  }
  return children;
}

class OrtExecutableTest : public ::testing::TestWithParam<GraphCase> {};

std::string CaseName(const ::testing::TestParamInfo<GraphCase>& info) { return info.param.name; }

TEST_P(OrtExecutableTest, AgreesWithTheReference) {
  const model::Graph graph = GraphOf(GetParam());
  if (std::ranges::any_of(graph.nodes, &model::Node::is_opaque)) {
    EXPECT_THAT(SharedBackend().CompileGraph(graph, {}),
                StatusIs(absl::StatusCode::kUnimplemented));
  } else {
    ExpectReference(SharedBackend(), graph, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OrtExecutableTest, ::testing::ValuesIn(AllGraphCases()), CaseName);

TEST(OrtBackendTest, SaysWhatItIs) {
  EXPECT_THAT(SharedBackend().fingerprint().text, HasSubstr("onnxruntime; ONNX Runtime 1."));
}

TEST(OrtBackendTest, AnExecutableIsLoadedAnewIfTheHelperWasKilled) {
  const Backend& backend = SharedBackend();
  const model::Graph graph = GraphOf(FindGraphCase("reads_value_twice"));
  ASSERT_OK_AND_ASSIGN(const auto executable, backend.CompileGraph(graph, {}));
  const std::vector<model::Tensor> inputs = RandomInputs(graph, executable->input_values(), 1);
  ASSERT_OK(executable->SetInputs(inputs));
  ASSERT_OK(executable->Run());
  ASSERT_OK_AND_ASSIGN(const auto before, executable->GetOutputs());
  const std::vector<pid_t> children = Children();
  ASSERT_FALSE(children.empty());
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    siginfo_t ended;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  }
  ASSERT_OK(executable->Run());
  ASSERT_OK_AND_ASSIGN(const auto after, executable->GetOutputs());
  EXPECT_TRUE(model::SameContent(before[0], after[0]));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
