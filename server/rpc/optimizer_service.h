#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/progress.h"
#include "quotient/v1/optimizer.grpc.pb.h"
#include "server/jobs/admission.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"
#include "server/rpc/stream_slots.h"
#include "server/worker/job_runner.h"

namespace quotient::rpc {

// Implements quotient.v1.OptimizerService: converts messages and passes them on; the decisions are
// made in server/jobs. Borrows all dependencies. WatchJob uses gRPC's callback interface, so that
// thousands of idle watchers need no threads.
class OptimizerService final : public v1::OptimizerService::Service {
 public:
  // At most `watches` streams of WatchJob, `watches_per_peer` of one client.
  struct Limits {
    int watches = 10'000;
    int watches_per_peer = 1000;
  };

  // `storage_failure` says why results cannot be stored now, and nothing if they can.
  OptimizerService(const Limits& limits, jobs::Admission* admission, jobs::JobStore* store,
                   jobs::WatchHub* hub, worker::JobRunner* runner, const Clock* clock,
                   std::function<std::string()> storage_failure);

  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override;
  grpc::Status LookupResult(grpc::ServerContext* context, const v1::LookupResultRequest* request,
                            v1::Job* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::Job* response) override;
  grpc::Status StopJob(grpc::ServerContext* context, const v1::StopJobRequest* request,
                       v1::Job* response) override;
  grpc::Status VerifyResult(grpc::ServerContext* context, const v1::VerifyResultRequest* request,
                            v1::VerifyResultResponse* response) override;
  grpc::Status ReplayJournal(grpc::ServerContext* context, const v1::ReplayJournalRequest* request,
                             v1::ReplayJournalResponse* response) override;
  grpc::Status DeleteJob(grpc::ServerContext* context, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse* response) override;

 private:
  // Results are verified and replayed without a turn among the jobs. So many checks run at once,
  // one of each client, and each of them on such a part of the threads that a job would have.
  static constexpr int kMostChecks = 2;
  static constexpr int kPartsOfThreads = 4;

  absl::StatusOr<v1::SubmitJobResponse> Submit(const v1::SubmitJobRequest& request,
                                               const grpc::ServerContext& context);
  absl::StatusOr<v1::Job> Lookup(const v1::LookupResultRequest& request);
  absl::StatusOr<jobs::Job> Find(const std::string& name);
  absl::StatusOr<v1::Job> Get(const v1::GetJobRequest& request);
  absl::StatusOr<v1::ListJobsResponse> List(const v1::ListJobsRequest& request);
  absl::StatusOr<v1::Job> Cancel(const v1::CancelJobRequest& request);
  absl::StatusOr<v1::Job> Stop(const v1::StopJobRequest& request);
  absl::StatusOr<v1::VerifyResultResponse> Verify(const v1::VerifyResultRequest& request,
                                                  grpc::ServerContext* context);
  absl::StatusOr<v1::ReplayJournalResponse> Replay(const v1::ReplayJournalRequest& request,
                                                   grpc::ServerContext* context);
  // Fails with JOB_NOT_FINISHED if it has none.
  absl::StatusOr<jobs::Job> FindWithResult(const std::string& name);
  // Returns what to hold while the result of the job is checked, and sets the threads to use.
  // QUEUE_FULL or QUOTA_CALLS if too many checks run.
  absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> BeginCheck(grpc::ServerContext* context,
                                                                jobs::Job* job);
  absl::StatusOr<v1::DeleteJobResponse> Delete(const v1::DeleteJobRequest& request);
  // The latest progress of a running job. While its result could not be stored, the phase is
  // "storage", and the detail says why.
  std::optional<Progress> ProgressOf(const jobs::Job& job) const;

  jobs::Admission& admission_;
  jobs::JobStore& store_;
  jobs::WatchHub& hub_;
  worker::JobRunner& runner_;
  const std::function<std::string()> storage_failure_;
  StreamSlots watches_;
  StreamSlots checks_;
};

}  // namespace quotient::rpc
