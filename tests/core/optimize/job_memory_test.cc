// What a job takes, in bytes that are allocated, against what it is expected to take.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/optimize/candidates.h"
#include "core/optimize/devices.h"
#include "core/optimize/footprint.h"
#include "core/optimize/optimize.h"
#include "core/optimize/prepared.h"
#include "core/timing/store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/counted_memory.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using testing::IsOk;

constexpr int kWidth = 512;
constexpr int kMatrixBytes = kWidth * kWidth * 4;

void AddMatrix(const std::string& name, int seed, ::onnx::GraphProto* graph) {
  ::onnx::TensorProto& tensor = *graph->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(kWidth);
  tensor.add_dims(kWidth);
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(kMatrixBytes);
  auto* const numbers = reinterpret_cast<float*>(bytes.data());
  for (int i = 0; i < kWidth * kWidth; ++i) {
    numbers[i] = static_cast<float>((i * 31 + i / kWidth * 17 + seed * 7) % 101 - 50) / 1000;
  }
}

// `layers` layers, each with two products of one value, which can be one product by the sum of the
// weights. All layers have the same weights, or each has weights of its own.
std::string Layers(int layers, bool shared) {
  std::string nodes;
  for (int i = 0; i < layers; ++i) {
    const std::string from = i == 0 ? "x" : absl::StrCat("y", i - 1);
    const int weights = shared ? 0 : i;
    absl::StrAppend(&nodes, "a", i, " = MatMul(", from, ", v", weights, ") b", i, " = MatMul(",
                    from, ", w", weights, ") s", i, " = Add(a", i, ", b", i, ") y", i, " = Tanh(s",
                    i, ") ");
  }
  const std::string text =
      absl::StrCat("g (float[8,512] x) => (float[8,512] y", layers - 1, ") {", nodes, "}");
  ::onnx::ModelProto model = testing::ModelAtOpset(17, text);
  for (int i = 0; i < (shared ? 1 : layers); ++i) {
    AddMatrix(absl::StrCat("v", i), 2 * i, model.mutable_graph());
    AddMatrix(absl::StrCat("w", i), 2 * i + 1, model.mutable_graph());
  }
  return model.SerializeAsString();
}

class JobMemoryTest : public ::testing::Test {
 protected:
  JobMemoryTest() {
    options_.device = "cpu";
    options_.threads = 1;
    options_.budget_seconds = 2;
  }

  // Bytes that are expected for this model, beside those of the file.
  double Expected(const std::string& bytes) {
    const ModelFiles files{.name = "m.onnx", .model = bytes};
    const absl::StatusOr<Prepared> prepared = Prepare(files, options_, 1, StopCondition());
    EXPECT_THAT(prepared.status(), IsOk());
    return BytesToRun(prepared->cut.graph,
                      LoadOf(files, prepared->cut.graph, RunBy::kExecutables,
                             options_.verify_inputs, MostCandidates(kMostAlternatives)));
  }

  // Bytes that optimizing it took at most, beside those of the file.
  double Taken(const std::string& bytes) {
    const int64_t before = testing::AllocatedBytes();
    testing::ResetPeakBytes();
    const ModelFiles files{.name = "m.onnx", .model = bytes};
    const absl::StatusOr<Result> result =
        Optimize(files, options_, environment_, StopCondition(), nullptr);
    EXPECT_THAT(result.status(), IsOk());
    if (result.ok()) {
      EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    }
    return static_cast<double>(testing::PeakBytes() - before);
  }

  void ExpectEnoughAndNotTooMuch(const std::string& bytes) {
    const double taken = Taken(bytes), expected = Expected(bytes);
    EXPECT_LE(taken, expected);
    constexpr double kWhateverTheModel = 1 << 27;
    EXPECT_LE(expected, 8 * taken + kWhateverTheModel) << "taken: " << taken;
  }

  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
  Environment environment_{.devices = &devices_, .clock = Clock::System()};
  Options options_;
};

TEST_F(JobMemoryTest, IsAsExpectedWhereEachLayerHasWeightsOfItsOwn) {
  const std::string bytes = Layers(12, /*shared=*/false);
  ExpectEnoughAndNotTooMuch(bytes);
}

TEST_F(JobMemoryTest, IsAsExpectedWhereAllLayersShareTheirWeights) {
  const std::string bytes = Layers(24, /*shared=*/true);
  ExpectEnoughAndNotTooMuch(bytes);
}

}  // namespace
}  // namespace quotient::optimize
