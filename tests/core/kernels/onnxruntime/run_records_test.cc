#include "core/kernels/onnxruntime/helper/run_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A line of the file, as release 1.31.1 writes it.
std::string Event(const std::string& name, double us, const std::string& op = "") {
  const std::string arguments =
      op.empty() ? "" : absl::StrCat(R"("op_name" : ")", op, R"(","node_index" : "3")");
  return absl::StrCat(R"({"cat" : "Node","pid" :1,"tid" :1,"dur" :)", us,
                      R"(,"ts" :6,"ph" : "X","name" :")", name, R"(","args" : {)", arguments, "}}");
}

std::string Kernel(const std::string& node, double us, const std::string& op) {
  return Event(node + "_kernel_time", us, op);
}

class RunRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(records_, RunRecords::Create(folder_.path())); }

  absl::StatusOr<std::vector<KernelRecord>> Read(const std::vector<std::string>& events) {
    std::ofstream(records_->prefix() + "_2026.json") << "[\n"
                                                     << absl::StrJoin(events, ",\n") << "\n]\n";
    return records_->Read();
  }

  const quotient::testing::TempDir folder_;
  std::unique_ptr<RunRecords> records_;
};

TEST_F(RunRecordsTest, HasTheTimesOfEachKernelRunByRun) {
  ASSERT_OK_AND_ASSIGN(const std::vector<KernelRecord> kernels,
                       Read({Kernel("folded", 9, "Cast"), Event("session_initialization", 80),
                             Kernel("a", 5, "Conv"), Kernel("", 2, "Add"), Kernel("", 3, "Add"),
                             Event("SequentialExecutor::Execute", 11), Event("model_run", 12),
                             Kernel("a", 6, "Conv"), Kernel("", 4, "Add"), Kernel("", 1, "Add"),
                             Event("model_run", 13)}));
  ASSERT_EQ(kernels.size(), 3u) << "what was folded while loading is no kernel";
  EXPECT_EQ(kernels[0].name, "a");
  EXPECT_EQ(kernels[0].op, "Conv");
  EXPECT_THAT(kernels[0].us, ElementsAre(5, 6));
  EXPECT_EQ(kernels[1].name, "");
  EXPECT_THAT(kernels[1].us, ElementsAre(2, 4));
  EXPECT_THAT(kernels[2].us, ElementsAre(3, 1));
}

TEST_F(RunRecordsTest, LeavesOutRunsThatHadOtherKernels) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<KernelRecord> kernels,
      Read({Kernel("a", 5, "Conv"), Event("model_run", 6), Kernel("b", 7, "Conv"),
            Event("model_run", 8), Kernel("a", 1, "Conv"), Kernel("b", 2, "Conv"),
            Event("model_run", 9), Kernel("a", 4, "Conv"), Event("model_run", 5)}));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0].us, ElementsAre(5, 4));
}

TEST_F(RunRecordsTest, LinesThatAreNoEventsAreNotMinded) {
  ASSERT_OK_AND_ASSIGN(const std::vector<KernelRecord> kernels,
                       Read({"{", "7", "[1]", R"({"name" : "x_kernel_time","args" : 3})"}));
  EXPECT_THAT(kernels, IsEmpty());
}

TEST_F(RunRecordsTest, FailsIfNothingWasWritten) {
  EXPECT_THAT(records_->Read(), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(RunRecordsTest, LeavesNothingBehind) {
  const std::filesystem::path folder = std::filesystem::path(records_->prefix()).parent_path();
  ASSERT_TRUE(std::filesystem::exists(folder));
  ASSERT_OK(Read({}).status());
  records_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
