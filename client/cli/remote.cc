#include "client/cli/remote.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command_table.h"
#include "client/cli/watch_view.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/random_id.h"
#include "google/protobuf/util/time_util.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/status.h"

namespace quotient::cli {
namespace {

std::string ServerAddress(const Settings& settings) {
  if (!settings.server.empty()) return settings.server;
  const std::string variable = os::ValueOf(settings.environment, kServerVariable);
  return variable.empty() ? kDefaultServer : variable;
}

class RemoteResult : public ResultSource {
 public:
  RemoteResult(const v1::JobResult* result, client::BlobClient* blobs)
      : result_(*result), blobs_(*blobs) {}

  absl::Status Model(Sink sink) override { return Fetch("model", result_.model(), sink); }
  absl::Status ExternalData(Sink sink) override {
    return Fetch("external data", result_.external_data(), sink);
  }
  std::string external_location() const override { return result_.external_location(); }
  absl::StatusOr<std::string> ReportJson() override {
    return Text("report", result_.report_json());
  }
  absl::StatusOr<std::string> ReportHtml() override {
    return Text("report's page", result_.report_html());
  }
  absl::StatusOr<std::string> Journal() override {
    return result_.has_journal() ? Text("journal", result_.journal()) : std::string();
  }

 private:
  // `what` the file is of the result. One that was damaged is not there any more when it is asked
  // for again.
  absl::Status Fetch(absl::string_view what, const v1::Digest& digest, Sink sink) {
    QUOTIENT_ASSIGN_OR_RETURN(const BlobId id, wire::FromProto(digest));
    const absl::Status fetched = blobs_.Download(id, sink);
    if (GetReason(fetched) != Reason::kBlobCorrupt && !absl::IsNotFound(fetched)) return fetched;
    return MakeError(
        Reason::kBlobCorrupt,
        absl::StrCat("the ", what, " of the result is damaged or gone (", fetched.message(),
                     "); submit the job again to have it made anew"));
  }

  absl::StatusOr<std::string> Text(absl::string_view what, const v1::Digest& digest) {
    std::string text;
    QUOTIENT_RETURN_IF_ERROR(Fetch(what, digest, [&text](absl::string_view bytes) {
      absl::StrAppend(&text, bytes);
      return absl::OkStatus();
    }));
    return text;
  }

  const v1::JobResult& result_;
  client::BlobClient& blobs_;
};

google::protobuf::Duration DurationOf(double seconds) {
  constexpr double kMost = 1e10;  // Servers refuse durations far below this.
  return google::protobuf::util::TimeUtil::MillisecondsToDuration(
      static_cast<int64_t>(std::ceil(1000 * std::min(seconds, kMost))));
}

absl::StatusOr<v1::Digest> UploadBlob(absl::string_view bytes, client::BlobClient& blobs) {
  const BlobId id = BlobId::Of(bytes);
  QUOTIENT_RETURN_IF_ERROR(blobs.Upload(id, bytes));
  return wire::ToProto(id);
}

absl::Status UploadSnapshot(const Settings& settings, Remote& remote) {
  if (settings.snapshot_bytes.empty()) return absl::OkStatus();
  return UploadBlob(settings.snapshot_bytes, *remote.blobs).status();
}

absl::StatusOr<v1::Digest> DigestOf(absl::string_view bytes) {
  return wire::ToProto(BlobId::Of(bytes));
}

// Names the files of a model by what `to_digest` makes of their bytes.
absl::StatusOr<v1::ModelManifest> ManifestOf(
    const client::LocalModel& model,
    absl::FunctionRef<absl::StatusOr<v1::Digest>(absl::string_view)> to_digest) {
  v1::ModelManifest manifest;
  QUOTIENT_ASSIGN_OR_RETURN(*manifest.mutable_graph(), to_digest(model.graph()));
  for (const auto& [location, file] : model.external()) {
    v1::ModelManifest::ExternalFile* entry = manifest.add_external_files();
    entry->set_location(location);
    QUOTIENT_ASSIGN_OR_RETURN(*entry->mutable_blob(), to_digest(file->bytes()));
  }
  return manifest;
}

v1::JobPolicy PolicyOf(const Settings& settings) {
  v1::JobPolicy policy;
  policy.set_priority(settings.priority);
  if (settings.queue_seconds > 0) {
    *policy.mutable_queue_deadline() = DurationOf(settings.queue_seconds);
  }
  if (settings.run_seconds > 0) *policy.mutable_run_deadline() = DurationOf(settings.run_seconds);
  return policy;
}

}  // namespace

absl::StatusOr<Remote> Connect(const Settings& settings, client::Interrupt* interrupt) {
  Remote remote;
  client::ConnectionOptions options = {.address = ServerAddress(settings),
                                       .patience = absl::Seconds(settings.patience_seconds)};
  options.first_patience = std::min(options.first_patience, options.patience);
  QUOTIENT_ASSIGN_OR_RETURN(remote.connection, client::Connection::Open(options, interrupt));
  remote.blobs = std::make_unique<client::BlobClient>(remote.connection.get());
  remote.jobs = std::make_unique<client::JobClient>(remote.connection.get());
  return remote;
}

absl::StatusOr<v1::ModelManifest> UploadModel(const client::LocalModel& model, Remote& remote) {
  return ManifestOf(
      model, [&remote](absl::string_view bytes) { return UploadBlob(bytes, *remote.blobs); });
}

absl::StatusOr<v1::Job> LookupModel(const client::LocalModel& model, const Settings& settings,
                                    Remote& remote) {
  v1::LookupResultRequest request;
  QUOTIENT_ASSIGN_OR_RETURN(*request.mutable_model(), ManifestOf(model, &DigestOf));
  *request.mutable_options() = wire::ToProto(settings.options);
  request.set_external_location(wire::Utf8(ExternalLocation(settings.output)));
  return remote.jobs->Lookup(request);
}

absl::StatusOr<Submitted> SubmitModel(const client::LocalModel& model, const Settings& settings,
                                      Remote& remote) {
  v1::SubmitJobRequest request;
  request.set_request_id(os::RandomId());
  QUOTIENT_ASSIGN_OR_RETURN(*request.mutable_model(), UploadModel(model, remote));
  QUOTIENT_RETURN_IF_ERROR(UploadSnapshot(settings, remote));
  *request.mutable_options() = wire::ToProto(settings.options);
  request.set_model_name(wire::Utf8(model.name()));
  request.set_external_location(wire::Utf8(ExternalLocation(settings.output)));
  request.set_skip_cache_lookup(settings.no_cache);
  *request.mutable_policy() = PolicyOf(settings);
  QUOTIENT_ASSIGN_OR_RETURN(v1::SubmitJobResponse response, remote.jobs->Submit(request));
  return Submitted{request.request_id(), std::move(*response.mutable_job()),
                   response.disposition()};
}

absl::StatusOr<v1::ValidateModelResponse> ValidateOnServer(const client::LocalModel& model,
                                                           const Settings& settings,
                                                           Remote& remote) {
  v1::ValidateModelRequest request;
  QUOTIENT_ASSIGN_OR_RETURN(*request.mutable_model(), UploadModel(model, remote));
  QUOTIENT_RETURN_IF_ERROR(UploadSnapshot(settings, remote));
  request.set_model_name(wire::Utf8(model.name()));
  *request.mutable_options() = wire::ToProto(settings.options);
  return remote.jobs->Validate(request);
}

absl::StatusOr<v1::Job> WatchJob(const std::string& name, Remote& remote, ProgressView* view) {
  WatchView watch(view);
  absl::StatusOr<v1::Job> job =
      remote.jobs->Watch(name, [&watch](const v1::WatchJobResponse& event) { watch.Show(event); });
  view->Clear();
  return job;
}

absl::Status OutcomeOf(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_SUCCEEDED) return absl::OkStatus();
  if (job.state() == v1::JOB_STATE_FAILED) return wire::FromProto(job.error());
  if (job.state() == v1::JOB_STATE_CANCELLED) {
    return MakeError(Reason::kCancelled, absl::StrCat(job.name(), " was cancelled"));
  }
  return MakeError(Reason::kJobNotFinished,
                   absl::StrCat(job.name(), " is ", client::StateName(job.state())));
}

std::unique_ptr<ResultSource> NewRemoteResult(const v1::JobResult* result,
                                              client::BlobClient* blobs) {
  return std::make_unique<RemoteResult>(result, blobs);
}

}  // namespace quotient::cli
