#pragma once

// Functions for work on a server, shared by several commands.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/output.h"
#include "client/cli/progress_view.h"
#include "client/cli/settings.h"
#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "client/cpp/job_client.h"
#include "client/cpp/model_files.h"

namespace quotient::cli {

// A connection and its clients.
struct Remote {
  std::unique_ptr<client::Connection> connection;
  std::unique_ptr<client::BlobClient> blobs;
  std::unique_ptr<client::JobClient> jobs;
};

// Connects to --server, $QUOTIENT_SERVER or the default address.
absl::StatusOr<Remote> Connect(const Settings& settings, client::Interrupt* interrupt);

absl::StatusOr<v1::ModelManifest> UploadModel(const client::LocalModel& model, Remote& remote);

struct Submitted {
  std::string request_id;
  v1::Job job;
  v1::SubmitJobResponse::Disposition disposition;
};
absl::StatusOr<Submitted> SubmitModel(const client::LocalModel& model, const Settings& settings,
                                      Remote& remote);

// Returns the job that has the result of an equal one already, or RESULT_NOT_FOUND. Uploads
// nothing.
absl::StatusOr<v1::Job> LookupModel(const client::LocalModel& model, const Settings& settings,
                                    Remote& remote);

// Asks what a job would make of the model. Uploads it.
absl::StatusOr<v1::ValidateModelResponse> ValidateOnServer(const client::LocalModel& model,
                                                           const Settings& settings,
                                                           Remote& remote);

// Watches the job until it ends and shows its progress. Returns OK for a failed job, too.
absl::StatusOr<v1::Job> WatchJob(const std::string& name, Remote& remote, ProgressView* view);

// Returns OK for a job that succeeded; else its error, CANCELLED, or JOB_NOT_FINISHED.
absl::Status OutcomeOf(const v1::Job& job);

// Returns the result of a job that succeeded. Borrows both.
std::unique_ptr<ResultSource> NewRemoteResult(const v1::JobResult* result,
                                              client::BlobClient* blobs);

}  // namespace quotient::cli
