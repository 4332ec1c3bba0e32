#include "server/runner/core_runner.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/compare_models.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/optimize/replay.h"
#include "core/report/report.h"

namespace quotient::runner {
namespace {

struct LoadedBlob {
  BlobId id;
  std::shared_ptr<const jobs::Blob> blob;
};

// The files of a model, and the blobs that own the files' bytes.
struct LoadedModel {
  optimize::ModelFiles files;
  std::vector<LoadedBlob> blobs;
};

absl::string_view BytesOf(const std::shared_ptr<const jobs::Blob>& blob) {
  return blob == nullptr ? absl::string_view() : blob->bytes();
}

class CoreRunner {
 public:
  explicit CoreRunner(const CoreTools& tools)
      : blobs_(*tools.blobs),
        made_(*tools.made),
        devices_(*tools.devices),
        rule_store_(tools.rule_store),
        clock_(*tools.clock),
        on_report_(tools.on_report) {}

  absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const StopCondition& stop,
                                      ProgressSink* progress, CheckpointSlot* checkpoint) const {
    const optimize::Options& options = job.spec.options;
    QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const jobs::Blob> snapshot,
                              LoadSnapshot(options.device));
    // Checks that the device exists before loading the model, all of whose bytes are hashed.
    QUOTIENT_RETURN_IF_ERROR(
        devices_.Get(options.device, options.ThreadsToUse(), BytesOf(snapshot)).status());
    QUOTIENT_ASSIGN_OR_RETURN(const optimize::DeviceIdentity device,
                              devices_.Identify(options.device, options.ThreadsToUse()));
    if (!job.device_fingerprint.empty() && device.fingerprint != job.device_fingerprint) {
      Log().warn("job {}: accepted for {}, and runs on {}", job.id, job.device_fingerprint,
                 device.fingerprint);
    }
    QUOTIENT_ASSIGN_OR_RETURN(const LoadedModel model, Load(job.spec.model, job.spec.model_name));
    const optimize::Environment environment{.devices = &devices_,
                                            .clock = clock_,
                                            .device_snapshot = BytesOf(snapshot),
                                            .external_location = job.spec.external_location,
                                            .checkpoint = checkpoint,
                                            .rule_store = rule_store_};
    const absl::StatusOr<optimize::Result> result =
        optimize::Optimize(model.files, options, environment, stop, progress);
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(model));
    QUOTIENT_RETURN_IF_ERROR(result.status());
    QUOTIENT_ASSIGN_OR_RETURN(jobs::JobResult stored, Store(*result, device));
    on_report_(result->report);
    return stored;
  }

  absl::StatusOr<optimize::Validation> Validate(const jobs::JobSpec& spec) const {
    QUOTIENT_ASSIGN_OR_RETURN(const LoadedModel model, Load(spec.model, spec.model_name));
    absl::StatusOr<optimize::Validation> validation =
        optimize::ValidateModel(model.files, spec.options, StopCondition());
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(model));
    return validation;
  }

  absl::StatusOr<report::Comparison> Verify(const jobs::Job& job, const StopCondition& stop) const {
    QUOTIENT_ASSIGN_OR_RETURN(const LoadedModel model, Load(job.spec.model, job.spec.model_name));
    jobs::Manifest made{.graph = job.result->model, .external_files = {}};
    if (job.result->external_data.has_value()) {
      made.external_files[job.result->external_location] = *job.result->external_data;
    }
    QUOTIENT_ASSIGN_OR_RETURN(const LoadedModel result, Load(made, "the result"));
    absl::StatusOr<report::Comparison> comparison =
        optimize::CompareModels(model.files, result.files, job.spec.options, stop);
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(model));
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(result));
    return comparison;
  }

  absl::StatusOr<worker::Replay> Replay(const jobs::Job& job, const StopCondition& stop) const {
    if (!job.result->journal.has_value()) {
      return MakeError(
          Reason::kJournalVersion,
          "the result has no journal: it is of another version, or its report says why");
    }
    QUOTIENT_ASSIGN_OR_RETURN(LoadedModel model, Load(job.spec.model, job.spec.model_name));
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view journal,
                              LoadBlob(*job.result->journal, &model));
    const absl::StatusOr<optimize::Replayed> replayed =
        optimize::ReplayJournal(model.files, journal, job.spec.options.ThreadsToUse(), stop);
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(model));
    QUOTIENT_RETURN_IF_ERROR(replayed.status());
    std::optional<BlobId> external_data;
    if (!replayed->files.external_location.empty()) {
      external_data = BlobId::Of(replayed->files.external_data);
    }
    const bool is_result = replayed->model == job.result->model &&
                           external_data == job.result->external_data &&
                           replayed->files.external_location == job.result->external_location;
    return worker::Replay{replayed->model, is_result, replayed->rewrites, replayed->conditions};
  }

  absl::StatusOr<std::string> Inspect(const jobs::Manifest& manifest,
                                      const std::string& name) const {
    QUOTIENT_ASSIGN_OR_RETURN(const LoadedModel model, Load(manifest, name));
    absl::StatusOr<std::string> summary = optimize::Inspect(model.files);
    QUOTIENT_RETURN_IF_ERROR(CheckWereRead(model));
    return summary;
  }

 private:
  absl::StatusOr<LoadedModel> Load(const jobs::Manifest& manifest, const std::string& name) const {
    LoadedModel model;
    model.files.name = name;
    QUOTIENT_ASSIGN_OR_RETURN(model.files.model, LoadBlob(manifest.graph, &model));
    for (const auto& [location, id] : manifest.external_files) {
      QUOTIENT_ASSIGN_OR_RETURN(model.files.external_data[location], LoadBlob(id, &model));
    }
    return model;
  }

  absl::StatusOr<absl::string_view> LoadBlob(const BlobId& id, LoadedModel* model) const {
    QUOTIENT_ASSIGN_OR_RETURN(auto blob, OpenInput(id));
    return model->blobs.emplace_back(LoadedBlob{id, std::move(blob)}).blob->bytes();
  }

  // What the disk could not read while the core used it was zeros, so nothing that came out of that
  // is of use, not even an error.
  absl::Status CheckWereRead(const LoadedModel& model) const {
    for (const auto& [id, blob] : model.blobs) {
      if (!blob->damaged()) continue;
      QUOTIENT_RETURN_IF_ERROR(blobs_.Verify(id));
      return MakeError(Reason::kBlobCorrupt,
                       absl::StrCat("the server's disk could not read blob ", id.Text()));
    }
    return absl::OkStatus();
  }

  // Returns the snapshot that the device's name refers to, or null if it is not a snapshot.
  absl::StatusOr<std::shared_ptr<const jobs::Blob>> LoadSnapshot(const std::string& device) const {
    const std::optional<BlobId> id = optimize::SnapshotOf(device);
    if (!id.has_value()) return nullptr;
    absl::StatusOr<std::shared_ptr<const jobs::Blob>> blob = OpenInput(*id);
    if (!blob.ok()) return Annotate(blob.status(), "the device's snapshot");
    return blob;
  }

  absl::StatusOr<std::shared_ptr<const jobs::Blob>> OpenInput(const BlobId& id) const {
    absl::StatusOr<std::shared_ptr<const jobs::Blob>> blob = jobs::OpenVerified(blobs_, id);
    if (absl::IsNotFound(blob.status())) {
      return MakeError(Reason::kBlobMissing, blob.status().message());
    }
    return blob;
  }

  absl::StatusOr<jobs::JobResult> Store(const optimize::Result& result,
                                        const optimize::DeviceIdentity& device) const {
    jobs::JobResult stored;
    stored.outcome = result.report.outcome;
    stored.engine_version = std::string(optimize::EngineVersion());
    stored.device_fingerprint = device.fingerprint;
    stored.device_failed = result.device_failed;
    stored.stopped_early = result.finished_early;
    QUOTIENT_ASSIGN_OR_RETURN(stored.model, made_.Put(result.files.model));
    if (!result.files.external_location.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(stored.external_data, made_.Put(result.files.external_data));
      stored.external_location = result.files.external_location;
    }
    QUOTIENT_ASSIGN_OR_RETURN(stored.report_json, made_.Put(report::ToJson(result.report)));
    QUOTIENT_ASSIGN_OR_RETURN(stored.report_html, made_.Put(report::ToHtml(result.report)));
    if (!result.journal.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(stored.journal, made_.Put(result.journal));
    }
    return stored;
  }

  jobs::BlobStore& blobs_;
  jobs::BlobSink& made_;
  optimize::Devices& devices_;
  const timing::RuleStore* const rule_store_;  // May be null.
  const Clock& clock_;
  const std::function<void(const report::Report&)> on_report_;
};

}  // namespace

absl::StatusOr<jobs::JobResult> RunJob(const CoreTools& tools, const jobs::Job& job,
                                       const StopCondition& stop, ProgressSink* progress,
                                       CheckpointSlot* checkpoint) {
  return CoreRunner(tools).Run(job, stop, progress, checkpoint);
}

absl::StatusOr<std::string> InspectModel(const CoreTools& tools, const jobs::Manifest& model,
                                         const std::string& name) {
  return CoreRunner(tools).Inspect(model, name);
}

absl::StatusOr<optimize::Validation> ValidateModel(const CoreTools& tools,
                                                   const jobs::JobSpec& spec) {
  return CoreRunner(tools).Validate(spec);
}

absl::StatusOr<report::Comparison> VerifyResult(const CoreTools& tools, const jobs::Job& job,
                                                const StopCondition& stop) {
  return CoreRunner(tools).Verify(job, stop);
}

absl::StatusOr<worker::Replay> ReplayJournal(const CoreTools& tools, const jobs::Job& job,
                                             const StopCondition& stop) {
  return CoreRunner(tools).Replay(job, stop);
}

}  // namespace quotient::runner
