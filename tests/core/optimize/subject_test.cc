#include "core/optimize/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An executable that keeps what it is given.
class RecordingExecutable final : public kernels::Executable {
 public:
  RecordingExecutable(std::vector<model::ValueId> ids, std::vector<model::Tensor>* inputs)
      : ids_(std::move(ids)), inputs_(*inputs) {}
  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    inputs_ = inputs;
    return absl::OkStatus();
  }
  absl::Status Run() override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override { return inputs_; }
  const std::vector<model::ValueId>& input_values() const override { return ids_; }
  const std::vector<model::ValueId>& output_values() const override { return ids_; }
  int num_kernels() const override { return 0; }

 private:
  const std::vector<model::ValueId> ids_;
  std::vector<model::Tensor>& inputs_;
};

// A device that keeps what it is asked for. Its executables want `wanted` as inputs.
class RecordingBackend final : public kernels::Backend {
 public:
  explicit RecordingBackend(bool runs_files) : runs_files_(runs_files) {}

  const kernels::DeviceFingerprint& fingerprint() const override { return fingerprint_; }
  const kernels::PartitionOptions& partition() const override { return partition_; }
  absl::StatusOr<std::vector<std::unique_ptr<kernels::CompiledKernel>>> Compile(
      const kernels::KernelSpec&) const override {
    return absl::UnimplementedError("this device runs no single kernels");
  }
  absl::StatusOr<std::unique_ptr<kernels::Executable>> CompileGraph(
      const model::Graph& graph, const kernels::PlanChoice& plans) const override {
    compiled = &graph;
    plan = plans ? plans({}) : "";
    if (!error.ok()) return error;
    return std::make_unique<RecordingExecutable>(wanted, &inputs);
  }
  bool runs_files() const override { return runs_files_; }
  absl::StatusOr<std::unique_ptr<kernels::Executable>> CompileFile(
      const kernels::ModelFile& file, const kernels::FileValues& asked) const override {
    model = std::string(file.model);
    values = asked;
    return std::make_unique<RecordingExecutable>(wanted, &inputs);
  }

  std::vector<model::ValueId> wanted;
  absl::Status error;
  mutable std::vector<model::Tensor> inputs;
  mutable const model::Graph* compiled = nullptr;
  mutable std::string plan;
  mutable std::string model;
  mutable kernels::FileValues values;

 private:
  const bool runs_files_;
  const kernels::DeviceFingerprint fingerprint_{"recording"};
  const kernels::PartitionOptions partition_;
};

// Two nodes are not understood. What the second one computes is not in the cut.
constexpr char kModel[] = R"(graph g {
  input x: float32[2]
  input z: float32[2]
  a = Sub(z, x)
  b: float32[2] = Opaque "Strange" (a)
  c: float32[*] = Opaque "Strange" (a)
  y = Relu(b)
  output a
  output c
  output y })";

class SubjectTest : public ::testing::Test {
 protected:
  void Read(absl::string_view text) {
    read_ = testing::MustParse(text);
    EXPECT_OK(ops::InferTypes(read_));
    cut_ = *verify::Cut(read_);
  }
  Subject subject() const {
    return {read_, cut_, {.model = "bytes", .external_data = {}, .owner = nullptr}, kept_values_};
  }
  model::ValueId InCut(absl::string_view name) const { return testing::MustFind(cut_.graph, name); }

  absl::StatusOr<std::unique_ptr<kernels::Executable>> Compile(
      const kernels::Backend& backend, const std::vector<model::Tensor>& inputs,
      const kernels::PlanChoice& plans = {}) const {
    return CompileSubject(subject(), inputs, backend, plans);
  }

  // The first elements of tensors.
  static std::vector<double> Firsts(const std::vector<model::Tensor>& tensors) {
    std::vector<double> firsts;
    for (const model::Tensor& tensor : tensors) firsts.push_back(tensor.GetDouble(0));
    return firsts;
  }
  static std::vector<std::string> Names(const std::vector<kernels::FileValue>& values) {
    std::vector<std::string> names;
    for (const kernels::FileValue& value : values) {
      names.push_back(absl::StrCat(value.name, ": ", ToString(value.type)));
    }
    return names;
  }

  model::Graph read_;
  int kept_values_ = 0;
  verify::CutGraph cut_;
};

constexpr char kWhole[] = R"(graph g {
  input unread: float32[2]
  input x: float32[2]
  input z: float32[2]
  y = Sub(z, x)
  output y })";

TEST_F(SubjectTest, AGraphRunsOnItsInputs) {
  Read(kWhole);
  kernels::fake::FakeClock clock;
  const auto backend = kernels::fake::NewFakeBackend(&clock);
  ASSERT_OK_AND_ASSIGN(const auto executable, Compile(*backend, {testing::Floats({2}, {9, 9}),
                                                                 testing::Floats({2}, {1, 2}),
                                                                 testing::Floats({2}, {5, 7})}));
  ASSERT_OK(executable->Run());
  ASSERT_OK_AND_ASSIGN(const std::vector<model::Tensor> outputs, executable->GetOutputs());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].AsDoubles(), ElementsAre(4, 5));
}

TEST_F(SubjectTest, AnExecutableGetsWhatItWantsInItsOwnOrder) {
  Read(kWhole);
  RecordingBackend backend(/*runs_files=*/false);
  backend.wanted = {InCut("z"), InCut("x")};
  ASSERT_OK(Compile(backend,
                    {testing::Floats({2}, {1, 1}), testing::Floats({2}, {2, 2}),
                     testing::Floats({2}, {3, 3})},
                    [](const kernels::KernelSpec&) { return "fast"; })
                .status());
  EXPECT_EQ(backend.compiled, &cut_.graph);
  EXPECT_EQ(backend.plan, "fast");
  EXPECT_THAT(Firsts(backend.inputs), ElementsAre(3, 2));
}

TEST_F(SubjectTest, AnInputThatTheModelLacksIsAnError) {
  Read(kWhole);
  RecordingBackend backend(/*runs_files=*/false);
  backend.wanted = {InCut("y")};
  EXPECT_THAT(Compile(backend, {testing::Floats({2}, {1, 1}), testing::Floats({2}, {2, 2}),
                                testing::Floats({2}, {3, 3})}),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(SubjectTest, TheErrorsOfTheDeviceAreReturned) {
  Read(kWhole);
  RecordingBackend backend(/*runs_files=*/false);
  backend.error = absl::UnimplementedError("no kernel");
  EXPECT_THAT(Compile(backend, {}), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(SubjectTest, AFileIsAskedForTheOutputsOfItsCut) {
  Read(kWhole);
  RecordingBackend backend(/*runs_files=*/true);
  backend.wanted = {InCut("x")};
  ASSERT_OK(Compile(backend, {testing::Floats({2}, {1, 1}), testing::Floats({2}, {2, 2}),
                              testing::Floats({2}, {3, 3})})
                .status());
  EXPECT_EQ(backend.model, "bytes");
  EXPECT_EQ(backend.compiled, nullptr);
  EXPECT_THAT(Names(backend.values.inputs),
              ElementsAre("unread: float32[2]", "x: float32[2]", "z: float32[2]"));
  EXPECT_THAT(Names(backend.values.outputs), ElementsAre("y: float32[2]"));
  EXPECT_EQ(backend.values.outputs[0].id, InCut("y"));
  EXPECT_THAT(Firsts(backend.inputs), ElementsAre(2));
}

TEST_F(SubjectTest, AFileIsNotAskedForValuesThatAreOnlyKept) {
  Read(R"(graph g {
    input x: float32[2]
    y = Relu(x)
    kept = Neg(x)
    output y
    output kept
  })");
  kept_values_ = 1;
  RecordingBackend backend(/*runs_files=*/true);
  backend.wanted = {InCut("x")};
  ASSERT_OK(Compile(backend, {testing::Floats({2}, {1, 1})}).status());
  EXPECT_THAT(Names(backend.values.outputs), ElementsAre("y: float32[2]"));
}

// The cut has inputs that are no inputs of the file: what the strange node computes.
TEST_F(SubjectTest, WhereNodesWereCutOutTheFileIsAskedForAllItsOutputs) {
  Read(kModel);
  ASSERT_EQ(cut_.cut_nodes, 2);
  ASSERT_EQ(cut_.graph.inputs.size(), 3u);
  EXPECT_THAT(Names(InputsOfFile(cut_)), ElementsAre("x: float32[2]", "z: float32[2]"));
  RecordingBackend backend(/*runs_files=*/true);
  ASSERT_OK(Compile(backend, {}).status());
  EXPECT_THAT(Names(backend.values.inputs), ElementsAre("x: float32[2]", "z: float32[2]"));
  EXPECT_THAT(Names(backend.values.outputs),
              ElementsAre("a: float32[2]", "c: float32[*]", "y: float32[2]"));
  EXPECT_EQ(backend.values.outputs[2].id, testing::MustFind(read_, "y"));
  EXPECT_THAT(backend.inputs, IsEmpty());
}

}  // namespace
}  // namespace quotient::optimize
