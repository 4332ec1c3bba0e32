#pragma once

// A fixture for tests of single stages: the job of one model in ONNX's text syntax.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/optimize/baseline.h"
#include "core/optimize/devices.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/package.h"
#include "core/rules/rule_set.h"
#include "core/timing/memory_store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {

// Time stands still, so that nothing ends because its time is up.
class StageTest : public ::testing::Test {
 protected:
  StageTest() {
    options_.device = "model:h200";
    options_.strategy = "saturate";
  }

  // Lets the job use this device alone, "fake".
  void UseDevice(testing::OpenByName open) {
    kinds_ = {testing::FakeDeviceKind({"fake"}, std::move(open))};
    devices_.emplace(DeviceSetup{.store = &store_, .lane = &lane_}, kinds_);
    options_.device = "fake";
  }

  // Makes the job of a file with these bytes. Options are set before.
  void SetFile(std::string bytes) {
    bytes_ = std::move(bytes);
    files_ = {.name = "m.onnx", .model = bytes_};
    budget_.emplace(options_, clock_, stop_);
    job_.emplace(Job{.families = families_,
                     .files = files_,
                     .options = options_,
                     .environment = environment_,
                     .stop = stop_,
                     .budget = *budget_,
                     .threads = std::max(1, options_.threads)});
  }

  // Makes the job of "g (...) => (...) {...}" and reads it.
  void Read(absl::string_view graph_text) {
    SetFile(testing::ModelAtOpset(17, graph_text).SerializeAsString());
    ReadFile();
  }
  void ReadFile() {
    ASSERT_OK_AND_ASSIGN(auto read, ReadOriginal(*job_));
    if (Original* const original = std::get_if<Original>(&read)) {
      original_.emplace(std::move(*original));
    } else {
      unusable_.emplace(std::get<Unusable>(std::move(read)));
    }
  }

  // The same, and predicts what it costs.
  void ReadAndPredict(absl::string_view graph_text) {
    ASSERT_NO_FATAL_FAILURE(Read(graph_text));
    ASSERT_TRUE(original_.has_value()) << unusable_->model.why;
    Predict();
  }
  void Predict() {
    ASSERT_OK_AND_ASSIGN(Baseline baseline, PredictBaseline(*job_, *original_));
    baseline_.emplace(std::move(baseline));
  }

  // A candidate for the job's model: another model with the same inputs and outputs.
  Candidate CandidateOf(absl::string_view graph_text) {
    const std::string bytes = testing::ModelAtOpset(17, graph_text).SerializeAsString();
    const ModelFiles files{.name = "candidate.onnx", .model = bytes};
    const absl::StatusOr<Prepared> prepared = Prepare(files, options_, 1, stop_);
    EXPECT_OK(prepared.status());
    absl::StatusOr<Candidate> candidate = Unrewritten(prepared->graph, prepared->measured, {}, {});
    EXPECT_OK(candidate.status());
    return *std::move(candidate);
  }
  Packaged PackageOf(absl::string_view graph_text) {
    absl::StatusOr<Packaged> packaged =
        Package(original_->prepared, CandidateOf(graph_text), SettingsToPackage(*job_, *baseline_),
                baseline_->costs(), {stop_, stop_});
    EXPECT_OK(packaged.status());
    return *std::move(packaged);
  }

  kernels::fake::FakeClock clock_;
  timing::MemoryStore store_;
  timing::Lane lane_;
  std::span<const rules::Family> families_ = rules::AllFamilies();
  std::vector<DeviceKind> kinds_;
  std::optional<Devices> devices_{std::in_place, DeviceSetup{.store = &store_, .lane = &lane_}};
  Environment environment_{.devices = &*devices_, .clock = clock_};
  Options options_;
  CancelToken token_;
  const StopCondition stop_{&token_};
  std::string bytes_;
  ModelFiles files_;
  std::optional<Budget> budget_;
  std::optional<Job> job_;
  std::optional<Original> original_;  // What was read, if it can be optimized.
  std::optional<Unusable> unusable_;  // Else.
  std::optional<Baseline> baseline_;
};

}  // namespace quotient::optimize
