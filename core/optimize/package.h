#pragma once

// Package: writes candidates and reads them back, and in the end the files of the one that was
// chosen.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"
#include "core/onnx/writer.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/devices.h"
#include "core/optimize/file_cost.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/prepared.h"
#include "core/report/gains.h"
#include "core/report/report.h"

namespace quotient::optimize {

// A candidate as it is checked and measured: everything was written but the weights. The model
// refers to them by their content, so equal models have equal weights. Candidates share most of
// their weights with each other and with the original, and all of them exist at one time.
struct WrittenCandidate {
  model::Graph graph;  // What was written.
  onnx::WrittenModel model;
};

// A candidate that was written, read back from its own bytes and prepared, so that errors of the
// writer are found.
struct Packaged {
  std::shared_ptr<const WrittenCandidate> written;
  // The model that it was made from, if that was prepared in another way than the job's original
  // (InputNames::kForgotten), so that other nodes may be opaque in it. Else null.
  std::shared_ptr<const Prepared> written_from;
  Prepared prepared;
  std::vector<report::JournalEntry> journal;
  report::SharedNames names;          // As in Candidate.
  std::vector<std::string> left_out;  // As in Candidate.
  std::optional<size_t> found;        // As in Candidate; nullopt for candidates of other searches.
  std::shared_ptr<const ChosenFrom> chosen_from = nullptr;  // As in Candidate.
  cost::GraphCost cost;  // The cost of the file where files are priced, else of prepared.cut.
};

// The candidates of a search, packaged.
struct PackagedCandidates {
  std::vector<Packaged> written;  // Without those that take the same time as the original.
  // The journals of those that do.
  std::vector<std::vector<report::JournalEntry>> without_effect;
  std::vector<absl::Status> failures;  // Why other candidates could not be written.
  bool time_was_up = false;            // Whether there was no time to write all others.
  std::vector<std::string> applied;    // Names of the rules that the search applied.
  std::shared_ptr<Variants> variants;  // As in Candidates.
  double seconds = 0;                  // What packaging took.
};

struct PackageSettings {
  int max_opset = 0;
  std::string external_location;
  bool bind_types = false;      // Whether shapes were bound for good.
  bool annotate_types = false;  // As in onnx::WriteOptions, like the next one.
  bool constants_as_initializers = false;
  std::vector<std::string> kept_values = {};  // As in Options.
  int threads = 1;
  std::shared_ptr<const Prepared> written_from;  // As in Packaged.
  // Where files are priced (CostOfFile): the device, and what the files are run with. Both are
  // borrowed, or both null.
  Device* device = nullptr;
  const FileCostContext* file_costs = nullptr;
};

// Borrows the baseline.
PackageSettings SettingsToPackage(const Job& job, const Baseline& baseline);

// When packaging a candidate has to end.
struct PackageStops {
  StopCondition stop;     // Ends everything: the candidate is lost.
  StopCondition pricing;  // Ends the measurement of its kernels: those that are left are estimated.
};

// Fails with INTERNAL if the candidate cannot be written or read back, which is a defect of
// Quotient, and with CANCELLED or RUN_BUDGET when it is told to stop.
absl::StatusOr<Packaged> Package(const Prepared& original, Candidate candidate,
                                 const PackageSettings& settings, cost::CostModel& costs,
                                 const PackageStops& stops);

// Packages the candidates of the job's search, one after the other. The first one is packaged even
// if the time for that is up. Fails with CANCELLED.
absl::StatusOr<PackagedCandidates> PackageCandidates(const Job& job, const Baseline& baseline,
                                                     Candidates candidates);

// A model to hand over, and what was read from it. `model` borrows the files' bytes.
struct Delivery {
  OptimizedModel files;
  onnx::Model model;
};

// Writes the files of a candidate. They were read back, and the graph in them is the one that was
// checked and measured. Fails with INTERNAL if it is not, and as the writer does.
absl::StatusOr<Delivery> Deliver(const Prepared& original, const Packaged& candidate,
                                 const PackageSettings& settings);

}  // namespace quotient::optimize
