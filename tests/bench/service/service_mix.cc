// A mixture of all that clients do with a server, for as long as one wishes; --help has the
// options.

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "proto/wire/digest.h"
#include "proto/wire/status.h"
#include "tests/bench/service/calls.h"
#include "tests/bench/service/garbage.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient::bench {
namespace {

constexpr char kUsage[] =
    R"(usage: service_mix --server HOST:PORT --model FILE --long-model FILE --seconds N [OPTION]...

Clients that submit, watch, download, cancel, stop, delete, look up, send garbage, and go away in the
middle, each what chance has it do. Jobs are deleted when they have ended. Prints how often each thing
was done, as JSON. The exit status is 1 if something went as it should not; the error is told.

  --clients N    at once (4)
  --seed N       of chance (0)
  --keep-jobs    jobs are not deleted
)";
constexpr Program kProgram = {"service_mix", kUsage};

// Models and blobs are of a few contents, so that those who send them meet.
constexpr uint64_t kContents = 16;
constexpr int64_t kAbandonedBytes = int64_t{1} << 20;

struct Options {
  std::string server;
  std::string model;
  std::string long_model;
  std::optional<int64_t> seconds;
  std::optional<int64_t> clients;
  std::optional<int64_t> seed;
  bool keep_jobs = false;
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      TextFlag("--server", options.server),         TextFlag("--model", options.model),
      TextFlag("--long-model", options.long_model), NumberFlag("--seconds", 1, options.seconds),
      NumberFlag("--clients", 1, options.clients),  NumberFlag("--seed", 0, options.seed),
      Switch("--keep-jobs", options.keep_jobs)};
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, /*others=*/nullptr));
  if (options.server.empty() || options.model.empty() || options.long_model.empty() ||
      !options.seconds.has_value()) {
    return absl::InvalidArgumentError("--server, --model, --long-model and --seconds are needed");
  }
  return options;
}

// A model with the same graph and another content: a doc_string follows, which is field 6 of
// ModelProto.
std::string WithRemark(const std::string& model, uint64_t number) {
  const std::string remark = absl::StrCat("number ", number);
  return absl::StrCat(model, "\x32", std::string(1, static_cast<char>(remark.size())), remark);
}

// One client, with a connection of its own. For one thread.
class Client {
 public:
  Client(const Options& options, std::string model, std::string long_model, uint64_t number)
      : options_(options),
        model_(std::move(model)),
        long_model_(std::move(long_model)),
        rng_(static_cast<uint64_t>(options.seed.value_or(0)), number),
        channel_(NewChannel(options.server)),
        stubs_(channel_),
        next_seed_((static_cast<uint64_t>(Clock::System().UnixMs()) << 20) + (number << 16)) {}

  struct Action {
    const char* name;
    int weight;  // How often it is done, beside the others.
    absl::Status (Client::*act)();
  };
  static const std::vector<Action>& Actions();

  // Does one thing.
  absl::Status Act() {
    const Action& action = Draw();
    const absl::Status status = (this->*action.act)();
    // Who is turned away, because others have all places, has met no fault.
    if (wire::MayPass(status)) {
      ++counts_["turned away"];
      return absl::OkStatus();
    }
    ++counts_[action.name];
    return Annotate(status, action.name);
  }

  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  using JobStub = v1::OptimizerService::Stub;

  const Action& Draw() {
    int sum = 0;
    for (const Action& action : Actions()) sum += action.weight;
    auto drawn = static_cast<int>(rng_.Below(static_cast<uint64_t>(sum)));
    for (const Action& action : Actions()) {
      drawn -= action.weight;
      if (drawn < 0) return action;
    }
    return Actions().back();
  }

  absl::StatusOr<v1::ModelManifest> Send(const std::string& bytes) {
    const BlobId id = BlobId::Of(bytes);
    QUOTIENT_RETURN_IF_ERROR(Upload(*stubs_.blobs, id, bytes));
    v1::ModelManifest model;
    *model.mutable_graph() = wire::ToProto(id);
    return model;
  }

  absl::StatusOr<v1::SubmitJobRequest> Job(const std::string& model, uint64_t seed) {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::ModelManifest sent, Send(model));
    return CheapJob(sent, seed);
  }

  absl::StatusOr<v1::Job> Submit(const v1::SubmitJobRequest& request) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto response,
                              Call(*stubs_.jobs, &JobStub::SubmitJob, request));
    return response.job();
  }

  absl::StatusOr<v1::Job> SubmitNew() {
    const std::string model = WithRemark(model_, rng_.Below(kContents));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::SubmitJobRequest request, Job(model, next_seed_++));
    return Submit(request);
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(grpc::Status (JobStub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                               const std::string& name) {
    Request request;
    request.set_name(name);
    return Call(*stubs_.jobs, method, request);
  }

  absl::Status Delete(const std::string& name) {
    if (options_.keep_jobs) return absl::OkStatus();
    return Ask(&JobStub::DeleteJob, name).status();
  }

  // Fails if the job has, unless somebody has killed its process too often.
  static absl::Status CheckEnd(const v1::Job& job) {
    if (job.state() != v1::JOB_STATE_FAILED) return absl::OkStatus();
    const absl::Status error = wire::FromProto(job.error());
    return GetReason(error) == Reason::kPoisoned ? absl::OkStatus() : error;
  }

  absl::Status Download(const v1::Digest& blob, int64_t most_messages) {
    grpc::ClientContext context;
    v1::DownloadRequest request;
    *request.mutable_blob() = blob;
    const auto reader = stubs_.blobs->Download(&context, request);
    v1::DownloadResponse response;
    for (int64_t i = 0; i < most_messages; ++i) {
      if (!reader->Read(&response)) return client::FromGrpc(reader->Finish());
    }
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }

  // --- What clients do

  absl::Status RunToTheEnd() {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job submitted, SubmitNew());
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, AwaitEnd(*stubs_.jobs, submitted.name()));
    QUOTIENT_RETURN_IF_ERROR(CheckEnd(job));
    if (job.has_result()) {
      QUOTIENT_RETURN_IF_ERROR(Download(job.result().model(), 1000));
      QUOTIENT_RETURN_IF_ERROR(Download(job.result().report_html(), 1));
    }
    return Delete(job.name());
  }

  // Two jobs that are equal, of one seed for all clients.
  absl::Status FindResult() {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::SubmitJobRequest request, Job(model_, /*seed=*/0));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, Submit(request));
    QUOTIENT_RETURN_IF_ERROR(AwaitEnd(*stubs_.jobs, job.name()).status());
    v1::LookupResultRequest lookup;
    *lookup.mutable_model() = request.model();
    *lookup.mutable_options() = request.options();
    return Call(*stubs_.jobs, &JobStub::LookupResult, lookup).status();
  }

  absl::Status Cancel() {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, SubmitNew());
    QUOTIENT_RETURN_IF_ERROR(Ask(&JobStub::CancelJob, job.name()).status());
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job ended, AwaitEnd(*stubs_.jobs, job.name()));
    QUOTIENT_RETURN_IF_ERROR(CheckEnd(ended));
    return Delete(job.name());
  }

  // A job that would take an hour.
  absl::Status Stop() {
    QUOTIENT_ASSIGN_OR_RETURN(v1::SubmitJobRequest request, Job(long_model_, next_seed_++));
    request.mutable_options()->clear_max_simulations();
    request.mutable_options()->set_budget_seconds(3600);
    request.mutable_options()->set_max_nodes(100);
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, Submit(request));
    QUOTIENT_RETURN_IF_ERROR(Ask(&JobStub::StopJob, job.name()).status());
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job ended, AwaitEnd(*stubs_.jobs, job.name()));
    QUOTIENT_RETURN_IF_ERROR(CheckEnd(ended));
    return Delete(job.name());
  }

  // A job whose model is none.
  absl::Status Fail() {
    Rng bytes(rng_.Below(kContents));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::SubmitJobRequest request,
                              Job(RandomBytes(bytes, 1000), next_seed_++));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, Submit(request));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job ended, AwaitEnd(*stubs_.jobs, job.name()));
    if (ended.state() != v1::JOB_STATE_FAILED) {
      return absl::InternalError("a job without a model did not fail");
    }
    return Delete(job.name());
  }

  absl::Status List() {
    v1::ListJobsRequest request;
    return Call(*stubs_.jobs, &JobStub::ListJobs, request).status();
  }

  // Goes away after the first message.
  absl::Status LeaveWatch() {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, SubmitNew());
    {
      grpc::ClientContext context;
      v1::WatchJobRequest request;
      request.set_name(job.name());
      const auto reader = stubs_.jobs->WatchJob(&context, request);
      v1::WatchJobResponse response;
      reader->Read(&response);
      context.TryCancel();
      reader->Finish();
    }
    QUOTIENT_RETURN_IF_ERROR(AwaitEnd(*stubs_.jobs, job.name()).status());
    return Delete(job.name());
  }

  absl::Status LeaveDownload() {
    const std::string bytes(size_t{8} << 20, 'd');
    QUOTIENT_ASSIGN_OR_RETURN(const v1::ModelManifest sent, Send(bytes));
    return Download(sent.graph(), 1);
  }

  // Goes away in the middle of an upload, of a blob that others send, too.
  absl::Status LeaveUpload() {
    Rng bytes(rng_.Below(kContents), /*stream=*/1);
    const std::string blob = RandomBytes(bytes, kAbandonedBytes);
    v1::StartUploadRequest start;
    *start.mutable_blob() = wire::ToProto(BlobId::Of(blob));
    QUOTIENT_ASSIGN_OR_RETURN(const auto ticket,
                              Call(*stubs_.blobs, &v1::BlobService::Stub::StartUpload, start));
    grpc::ClientContext context;
    v1::UploadResponse response;
    const auto writer = stubs_.blobs->Upload(&context, &response);
    v1::UploadRequest request;
    request.mutable_header()->set_upload_id(ticket.upload_id());
    request.mutable_header()->set_offset(ticket.committed_offset());
    writer->Write(request);
    request.set_data(blob.substr(static_cast<size_t>(ticket.committed_offset()), 1000));
    writer->Write(request);
    context.TryCancel();
    writer->Finish();
    return absl::OkStatus();
  }

  // Sends something else than it has announced.
  absl::Status SendWrongBytes() {
    std::string bytes = RandomBytes(rng_, 10'000);
    const BlobId announced = BlobId::Of(bytes);
    ++bytes[0];
    const absl::Status status = Upload(*stubs_.blobs, announced, bytes);
    if (GetReason(status) == Reason::kBadDigest || wire::MayPass(status)) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("wrong bytes: ", status.ToString()));
  }

  absl::Status SendGarbageCall() { return bench::SendGarbageCall(channel_, rng_); }
  absl::Status SendGarbageBytes() { return bench::SendGarbageBytes(options_.server, rng_); }

  const Options& options_;
  const std::string model_;
  const std::string long_model_;
  Rng rng_;
  const std::shared_ptr<grpc::Channel> channel_;
  const Stubs stubs_;
  uint64_t next_seed_;                     // Other clients, and earlier runs, have others.
  std::map<std::string, int64_t> counts_;  // What was done, and how often.
};

const std::vector<Client::Action>& Client::Actions() {
  static const auto& actions = *new std::vector<Action>{
      {"run", 20, &Client::RunToTheEnd},
      {"find result", 30, &Client::FindResult},
      {"cancel", 10, &Client::Cancel},
      {"stop", 2, &Client::Stop},
      {"fail", 4, &Client::Fail},
      {"list", 20, &Client::List},
      {"leave watch", 10, &Client::LeaveWatch},
      {"leave download", 10, &Client::LeaveDownload},
      {"leave upload", 10, &Client::LeaveUpload},
      {"wrong bytes", 10, &Client::SendWrongBytes},
      {"garbage call", 20, &Client::SendGarbageCall},
      {"garbage bytes", 20, &Client::SendGarbageBytes},
  };
  return actions;
}

// What all clients did. Thread-safe.
class Sum {
 public:
  void Add(const std::map<std::string, int64_t>& counts) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, count] : counts) counts_[name] += count;
  }
  void AddFault(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++counts_["faults"];
    std::fprintf(stderr, "service_mix: %s\n", status.ToString().c_str());
  }
  // Returns whether there were no faults.
  bool Print() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::string text;
    for (const auto& [name, count] : counts_) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", "\"", name, "\": ", count);
    }
    std::printf("{%s}\n", text.c_str());
    return !counts_.contains("faults");
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<bool> Run(const Options& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string model, os::ReadFile(options.model));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string long_model, os::ReadFile(options.long_model));
  Sum sum;
  const int64_t start_ns = Clock::System().NowNs();
  {
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < options.clients.value_or(4); ++i) {
      threads.emplace_back([&, i] {
        Client client(options, model, long_model, static_cast<uint64_t>(i));
        while (Clock::System().SecondsSince(start_ns) < static_cast<double>(*options.seconds)) {
          const absl::Status status = client.Act();
          if (!status.ok()) sum.AddFault(status);
        }
        sum.Add(client.counts());
      });
    }
  }
  return sum.Print();
}

}  // namespace
}  // namespace quotient::bench

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::bench::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::bench::ParseOptions, quotient::bench::Run);
}
