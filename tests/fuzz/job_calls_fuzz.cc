// Any calls of the services of jobs and models, in any order, with time and workers in between, get
// an answer that a client can read or an error that is no fault of the server; what is refused
// leaves all jobs as they were, and what a stream says comes in order.

#include <grpcpp/test/server_context_test_spouse.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/admission.h"
#include "server/jobs/convert.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"
#include "server/jobs/watch_hub.h"
#include "server/rpc/capabilities_service.h"
#include "server/rpc/model_service.h"
#include "server/rpc/optimizer_service.h"
#include "server/rpc/stream_slots.h"
#include "server/rpc/watch_stream.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/named_blobs.h"
#include "tests/fuzz/rpc_checks.h"
#include "tests/fuzz/scripts.pb.h"
#include "tests/fuzz/understood.h"
#include "tests/fuzz/watch_client.h"
#include "tests/server/support/fake_clock.h"
#include "tests/server/support/fake_runner.h"
#include "tests/server/support/memory_blob_store.h"
#include "tests/server/support/memory_job_store.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::fuzz::v1::JobScript;
using quotient::fuzz::v1::JobStep;
using quotient::fuzz::v1::Work;
using quotient::testing::Check;

// More takes longer and shows nothing new.
constexpr int kMostSteps = 24;
// What a client's jobs may have where there is a quota: fewer bytes than all blobs.
constexpr int64_t kQuotaBytes = 8;

// The blobs of all servers. No call adds any.
testing::MemoryBlobStore& Blobs() {
  static auto& blobs = *[] {
    auto* const store = new testing::MemoryBlobStore;
    for (const char* bytes : {"model", "odd", "result"}) Check(store->Put(bytes).ok(), "a blob");
    return store;
  }();
  return blobs;
}

absl::StatusOr<optimize::DeviceIdentity> Identify(const optimize::Options& options) {
  if (optimize::SnapshotOf(options.device).has_value()) {
    return optimize::DeviceIdentity{options.device, ""};
  }
  if (options.device == "onnxruntime") return MakeError(Reason::kDeviceNotPresent, "no library");
  return optimize::DeviceIdentity{options.device == "auto" ? "cpu" : options.device, "a core"};
}

class Server {
 public:
  explicit Server(int64_t quota_bytes)
      : admission_({.max_queued = 6,
                    .max_queued_per_client = 5,
                    .max_bytes_per_client = quota_bytes,
                    .max_external_files = 16},
                   {.ledger = &ledger_,
                    .blobs = &Blobs(),
                    .clock = &clock_,
                    .engine_version = "engine 1",
                    .new_id = [this] { return absl::StrCat(++last_id_); },
                    .identify = Identify}) {}

  void Run(const JobScript& script) {
    for (int i = 0; i < std::min(script.steps_size(), kMostSteps); ++i) {
      Take(script.steps(i));
      for (testing::WatchClient& watcher : watchers_) watcher.Read();
      watchers_.remove_if([](const testing::WatchClient& each) { return each.finished(); });
    }
    hub_.Close();
    for (testing::WatchClient& watcher : watchers_) watcher.Read();
  }

 private:
  void Take(const JobStep& step) {
    traceparent_ = step.traceparent();
    switch (step.step_case()) {
      case JobStep::kSubmit:
        return Call<v1::SubmitJobResponse>(jobs_, &v1::OptimizerService::Service::SubmitJob,
                                           step.submit());
      case JobStep::kLookup:
        return Call<v1::Job>(jobs_, &v1::OptimizerService::Service::LookupResult, step.lookup());
      case JobStep::kGet:
        return Call<v1::Job>(jobs_, &v1::OptimizerService::Service::GetJob, step.get());
      case JobStep::kList:
        return List(step.list());
      case JobStep::kWatch:
        return Watch(step.watch());
      case JobStep::kCancel:
        return Call<v1::Job>(jobs_, &v1::OptimizerService::Service::CancelJob, step.cancel());
      case JobStep::kStop:
        return Call<v1::Job>(jobs_, &v1::OptimizerService::Service::StopJob, step.stop());
      case JobStep::kVerify:
        return Call<v1::VerifyResultResponse>(jobs_, &v1::OptimizerService::Service::VerifyResult,
                                              step.verify());
      case JobStep::kReplay:
        return Call<v1::ReplayJournalResponse>(jobs_, &v1::OptimizerService::Service::ReplayJournal,
                                               step.replay());
      case JobStep::kDelete:
        return Call<v1::DeleteJobResponse>(jobs_, &v1::OptimizerService::Service::DeleteJob,
                                           step.delete_());
      case JobStep::kInspect:
        return Call<v1::InspectModelResponse>(models_, &v1::ModelService::Service::InspectModel,
                                              step.inspect());
      case JobStep::kValidate:
        return Call<v1::ValidateModelResponse>(models_, &v1::ModelService::Service::ValidateModel,
                                               step.validate());
      case JobStep::kCapabilities:
        return Call<v1::Capabilities>(
            capabilities_, &v1::CapabilitiesService::Service::GetCapabilities, step.capabilities());
      case JobStep::kWork:
        return DoWork(step.work());
      case JobStep::kPassMs:
        return Pass(step.pass_ms());
      case JobStep::STEP_NOT_SET:
        return;
    }
  }

  template <typename Response, typename Service, typename Method, typename Request>
  Response Answer(Service& service, Method method, const Request& request) {
    grpc::ServerContext context;
    grpc::testing::ServerContextTestSpouse spouse(&context);
    if (!traceparent_.empty()) spouse.AddClientMetadata("traceparent", traceparent_);
    Response response;
    const std::string before = JobsNow();
    const grpc::Status status = (service.*method)(&context, &request, &response);
    if (status.ok()) {
      testing::CheckAnswer(response);
    } else {
      testing::CheckError(status);
      Check(JobsNow() == before, "what is refused changes no job");
    }
    return response;
  }

  template <typename Response, typename Service, typename Method, typename Request>
  void Call(Service& service, Method method, const Request& request) {
    Answer<Response>(service, method, request);
  }

  void List(v1::ListJobsRequest request) {
    if (request.page_token() == "next") request.set_page_token(next_page_);
    const auto response =
        Answer<v1::ListJobsResponse>(jobs_, &v1::OptimizerService::Service::ListJobs, request);
    if (!response.next_page_token().empty()) next_page_ = response.next_page_token();
  }

  void Watch(const v1::WatchJobRequest& request) {
    watchers_.emplace_back(request, [this](grpc::CallbackServerContext* context) {
      return rpc::StartWatchStream(context, watches_, admission_, *store_, hub_);
    });
  }

  void DoWork(const Work& work) {
    const auto claimed = dispatch_.Claim("worker");
    Check(claimed.ok(), "jobs can be claimed", claimed.status());
    if (!claimed->has_value()) return;
    const jobs::Lease& lease = (*claimed)->lease;
    if (work.has_progress()) hub_.PublishProgress(lease, wire::FromProto(work.progress()));
    const absl::Status ended = End(lease, work);
    Check(ended.ok(), "a worker can end its job", ended);
  }

  absl::Status End(const jobs::Lease& lease, const Work& work) {
    const absl::Status failure = wire::FromProto(work.error());
    switch (work.end_case()) {
      case Work::kResult:
        return dispatch_.Finish(lease, jobs::FromProto(work.result()));
      case Work::kError:
        return failure.ok() ? absl::OkStatus() : dispatch_.Finish(lease, failure);
      case Work::kHandsBack:
        return dispatch_.HandBack(lease, "drained");
      case Work::kDies:
        return dispatch_.Lose(lease, "process_died", MakeError(Reason::kPoisoned, "it died"));
      case Work::END_NOT_SET:
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  void Pass(int64_t ms) {
    clock_.AdvanceMs(std::clamp<int64_t>(ms, 0, jobs::JobPolicy::kMostMs));
    hub_.Tick();
    Check(dispatch_.RequeueLost().ok(), "leases can be taken back");
    Check(dispatch_.FailOverdue().ok(), "jobs can be overdue");
    Check(admission_.ForgetOldRequests().ok(), "old requests can be forgotten");
  }

  // What nothing but a successful call may change.
  std::string JobsNow() {
    std::string text;
    const jobs::ListQuery all{.limit = std::numeric_limits<int>::max()};
    const absl::Status listed = store_->List(all, [&](int64_t number, const jobs::Job& job) {
      absl::StrAppend(&text, number, " ", job.id, " ", job.sequence, " ",
                      jobs::JobStateName(job.state), "\n");
      return true;
    });
    Check(listed.ok(), "jobs can be listed", listed);
    return text;
  }

  testing::FakeClock clock_;
  const std::unique_ptr<jobs::JobStore> store_ = store::NewMemoryJobStore(&clock_);
  jobs::Ledger ledger_{store_.get()};
  jobs::WatchHub hub_{&clock_};
  jobs::Dispatch dispatch_{&ledger_, &clock_};
  int last_id_ = 0;
  jobs::Admission admission_;
  testing::FakeRunner runner_{&Blobs(), &Blobs()};
  // Slots for all: a stream that loses its slot is cancelled by gRPC, which is not there.
  rpc::StreamSlots watches_{
      {.count = kMostSteps + 1, .per_peer = kMostSteps + 1}, "watches", &clock_};
  rpc::OptimizerService jobs_{
      {}, &admission_, store_.get(), &hub_, &runner_, &clock_, [] { return std::string(); }};
  rpc::ModelService models_{&admission_, &runner_, &clock_};
  rpc::CapabilitiesService capabilities_{v1::Capabilities()};
  const bool observes_ = (ledger_.AddObserver(&hub_), true);

  std::string traceparent_;  // Of the call under way.
  std::string next_page_;    // The last page token that was returned.
  // Declared last: its clients end their streams, which use all of the above.
  std::list<testing::WatchClient> watchers_;
};

}  // namespace

QUOTIENT_MUTATES_MESSAGES(JobScript)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  JobScript script;
  if (!script.ParseFromArray(data, static_cast<int>(size)) || script.steps().empty()) return 0;
  testing::NoteUnderstood();
  testing::ResolveDigests(&script);
  Server(script.steps_size() % 2 == 0 ? 0 : kQuotaBytes).Run(script);
  return 0;
}
