// Many clients of a server at once, most of which do nothing; --help has the options.

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/interrupt.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "proto/wire/digest.h"
#include "proto/wire/status.h"
#include "tests/bench/service/calls.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient::bench {
namespace {

constexpr char kUsage[] =
    R"(usage: service_crowd KIND --server HOST:PORT --model FILE [OPTION]...

Makes calls of one kind that stay open. Prints {"open": N, ...} as JSON when all are open or were
refused. Ends when its standard input does, after another line of the same kind.

  watch          WatchJob, of jobs that wait; reads all that comes
  slow-watch     the same, of a job of which much is to be told; reads nothing
  slow-get       GetJob of that job; reads nothing
  slow-download  Download of a blob of --bytes; reads the first message
  upload         Upload of blobs of --bytes, each another, one after the other; who is turned away
                 tries again

  --count N        calls (100)
  --connections N  to divide them among (100, or a connection for each call if there are fewer)
  --jobs N         that watchers watch (100)
  --bytes N        16777216
  --blobs N        that each upload sends (8)
  --pause-ms N     of an upload after each megabyte (0)
)";
constexpr Program kProgram = {"service_crowd", kUsage};

// What makes blobs different has at most so many bytes.
constexpr int64_t kTagBytes = 20;
// So many calls are opened at the same time.
constexpr int kOpening = 200;
// A job of which much is to be told: its model names so many files, by names of so many bytes.
constexpr int kFiles = 4000;
constexpr size_t kNameBytes = 350;

struct Options {
  std::string server;
  std::string model;
  std::string kind;
  std::optional<int64_t> count;
  std::optional<int64_t> connections;
  std::optional<int64_t> jobs;
  std::optional<int64_t> bytes;
  std::optional<int64_t> blobs;
  std::optional<int64_t> pause_ms;
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      TextFlag("--server", options.server),    TextFlag("--model", options.model),
      NumberFlag("--count", 1, options.count), NumberFlag("--connections", 1, options.connections),
      NumberFlag("--jobs", 1, options.jobs),   NumberFlag("--bytes", kTagBytes, options.bytes),
      NumberFlag("--blobs", 1, options.blobs), NumberFlag("--pause-ms", 0, options.pause_ms)};
  std::vector<std::string> kinds;
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &kinds));
  if (kinds.size() != 1 || options.server.empty() || options.model.empty()) {
    return absl::InvalidArgumentError("KIND, --server and --model are needed");
  }
  options.kind = kinds[0];
  return options;
}

// What the calls of the crowd have come to. Thread-safe.
class Tally {
 public:
  void Opened() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++open_;
  }
  void Received() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++messages_;
  }
  void TurnedAway() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++turned_away_;
  }
  void Sent(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++blobs_;
    bytes_ += bytes;
  }
  // The call has ended, and was open before or not.
  void Ended(const absl::Status& status, bool was_open) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (was_open) --open_;
    ++ends_[status.ok() ? "OK" : absl::StatusCodeToString(status.code())];
    if (!status.ok()) last_error_ = std::string(status.message());
    ++ended_;
  }

  // Until no more than so many of the first `started` calls are neither open nor ended.
  void AwaitOpening(int64_t started, int64_t most) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return started - open_ - ended_ <= most;
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&settled));
  }

  void Print() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::string ends;
    for (const auto& [code, count] : ends_) {
      absl::StrAppend(&ends, ends.empty() ? "" : ", ", "\"", code, "\": ", count);
    }
    absl::PrintF(R"({"open": %d, "messages": %d, "blobs": %d, "bytes": %d, "turned_away": %d, )"
                 R"("seconds": %.3f, "ended": {%s}})"
                 "\n",
                 open_, messages_, blobs_, bytes_, turned_away_,
                 Clock::System().SecondsSince(start_ns_), ends);
    std::fflush(stdout);
    if (!last_error_.empty()) std::fprintf(stderr, "last error: %s\n", last_error_.c_str());
  }

 private:
  const int64_t start_ns_ = Clock::System().NowNs();
  absl::Mutex mutex_;
  int64_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t messages_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t blobs_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t turned_away_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> ends_ ABSL_GUARDED_BY(mutex_);  // By status code.
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
};

// How many messages a reader reads before it stops reading.
enum class Reads { kNone, kOne, kAll };

// A call that sends one message and reads as much as it is meant to. For gRPC, a call of any other
// kind is one of this kind.
template <typename Request, typename Response>
class OpenCall : public grpc::ClientBidiReactor<Request, Response> {
 public:
  OpenCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
           const Request& request, Reads reads, Tally* tally)
      : stub_(channel), request_(request), reads_(reads), tally_(*tally) {
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    this->StartWriteLast(&request_, {});
    if (reads_ != Reads::kNone) this->StartRead(&response_);
    this->StartCall();
  }

  // Blocks until the call has ended.
  ~OpenCall() override {
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok && reads_ == Reads::kNone) NoteOpen();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    tally_.Received();
    NoteOpen();
    if (reads_ == Reads::kAll) this->StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    tally_.Ended(client::FromGrpc(status), is_open_);
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }

 private:
  void NoteOpen() {
    if (!std::exchange(is_open_, true)) tally_.Opened();
  }

  grpc::TemplatedGenericStub<Request, Response> stub_;
  const Request request_;
  const Reads reads_;
  Tally& tally_;
  grpc::ClientContext context_;
  Response response_;
  bool is_open_ = false;  // Belongs to gRPC's callbacks, of which it makes one at a time.

  absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

class Crowd {
 public:
  explicit Crowd(const Options& options) : options_(options) {
    const int64_t connections = std::min(count(), options.connections.value_or(100));
    const bool is_slow = absl::StartsWith(options.kind, "slow-");
    for (int64_t i = 0; i < connections; ++i) {
      channels_.push_back(NewChannel(options.server, is_slow));
    }
  }

  absl::Status Open() {
    QUOTIENT_ASSIGN_OR_RETURN(bytes_, os::ReadFile(options_.model));
    QUOTIENT_RETURN_IF_ERROR(Send(bytes_));
    if (options_.kind == "watch") return OpenWatches();
    if (options_.kind == "slow-watch") return OpenSlowCalls<v1::WatchJobRequest>("WatchJob");
    if (options_.kind == "slow-get") return OpenSlowCalls<v1::GetJobRequest>("GetJob");
    if (options_.kind == "slow-download") return OpenDownloads();
    if (options_.kind == "upload") return OpenUploads();
    return absl::InvalidArgumentError(absl::StrCat("there is no kind ", options_.kind));
  }

  // Uploads end with the blob that they are sending; the other calls end with this object.
  void Close() {
    closing_.Trigger();
    uploads_.clear();
  }

  Tally& tally() { return tally_; }

 private:
  int64_t count() const { return options_.count.value_or(100); }
  const std::shared_ptr<grpc::Channel>& ChannelOf(int64_t call) const {
    return channels_[static_cast<size_t>(call) % channels_.size()];
  }

  absl::Status Send(absl::string_view bytes) {
    return Upload(*control_.blobs, BlobId::Of(bytes), bytes);
  }

  // Returns the name of a job that waits, or runs if it is the first one.
  absl::StatusOr<std::string> Submit(const v1::ModelManifest& model, uint64_t seed) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const auto response,
        Call(*control_.jobs, &v1::OptimizerService::Stub::SubmitJob, CheapJob(model, seed)));
    return response.job().name();
  }

  v1::ModelManifest Model() const {
    v1::ModelManifest model;
    *model.mutable_graph() = wire::ToProto(BlobId::Of(bytes_));
    return model;
  }

  // Calls a method for each request in turn, until there are enough calls.
  template <typename Request, typename Response>
  void OpenCalls(const std::string& method, const std::vector<Request>& requests, Reads reads) {
    for (int64_t i = 0; i < count(); ++i) {
      tally_.AwaitOpening(i, kOpening);
      calls_.push_back(std::make_shared<OpenCall<Request, Response>>(
          ChannelOf(i), method, requests[static_cast<size_t>(i) % requests.size()], reads,
          &tally_));
    }
    tally_.AwaitOpening(count(), 0);
  }

  absl::Status OpenWatches() {
    const auto first_seed = static_cast<uint64_t>(Clock::System().UnixMs()) << 20;
    std::vector<v1::WatchJobRequest> requests;
    for (int64_t i = 0; i < options_.jobs.value_or(100); ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::string name,
                                Submit(Model(), first_seed + static_cast<uint64_t>(i)));
      requests.emplace_back().set_name(name);
    }
    OpenCalls<v1::WatchJobRequest, v1::WatchJobResponse>("/quotient.v1.OptimizerService/WatchJob",
                                                         requests, Reads::kAll);
    return absl::OkStatus();
  }

  template <typename Request>
  absl::Status OpenSlowCalls(const std::string& method) {
    v1::ModelManifest model = Model();
    for (int i = 0; i < kFiles; ++i) {
      v1::ModelManifest::ExternalFile* const file = model.add_external_files();
      file->set_location(absl::StrCat(std::string(kNameBytes, 'x'), i));
      *file->mutable_blob() = model.graph();
    }
    Request request;
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, Submit(model, /*seed=*/1));
    request.set_name(name);
    // The messages that come have no part in this.
    OpenCalls<Request, v1::Job>(absl::StrCat("/quotient.v1.OptimizerService/", method),
                                std::vector{request}, Reads::kNone);
    return absl::OkStatus();
  }

  absl::Status OpenDownloads() {
    const std::string bytes(static_cast<size_t>(blob_bytes()), 'x');
    QUOTIENT_RETURN_IF_ERROR(Send(bytes));
    v1::DownloadRequest request;
    *request.mutable_blob() = wire::ToProto(BlobId::Of(bytes));
    OpenCalls<v1::DownloadRequest, v1::DownloadResponse>("/quotient.v1.BlobService/Download",
                                                         std::vector{request}, Reads::kOne);
    return absl::OkStatus();
  }

  int64_t blob_bytes() const { return options_.bytes.value_or(int64_t{16} << 20); }

  absl::Status OpenUploads() {
    for (int64_t i = 0; i < count(); ++i) {
      uploads_.emplace_back([this, i] { SendBlobs(i); });
    }
    tally_.AwaitOpening(count(), 0);
    return absl::OkStatus();
  }

  // Sends one blob after the other until there are enough, or the crowd is told to end.
  void SendBlobs(int64_t upload) {
    const Stubs stubs(ChannelOf(upload));
    Rng rng(static_cast<uint64_t>(Clock::System().UnixMs()), static_cast<uint64_t>(upload));
    tally_.Opened();
    absl::Status status;
    for (int64_t i = 0; i < options_.blobs.value_or(8) && !closing_.triggered(); ++i) {
      std::string bytes(static_cast<size_t>(blob_bytes()), 'x');
      std::ranges::copy(absl::StrCat(rng.Next()), bytes.begin());
      status = SendUntilTaken(*stubs.blobs, bytes);
      if (!status.ok()) break;
    }
    tally_.Ended(status, /*was_open=*/true);
  }

  absl::Status SendUntilTaken(v1::BlobService::Stub& stub, absl::string_view bytes) {
    const BlobId id = BlobId::Of(bytes);
    for (;;) {
      const absl::Status status =
          Upload(stub, id, bytes, absl::Milliseconds(options_.pause_ms.value_or(0)));
      if (status.ok()) tally_.Sent(blob_bytes());
      if (!wire::MayPass(status)) return status;
      tally_.TurnedAway();
      if (closing_.WaitFor(absl::Milliseconds(500))) return absl::OkStatus();
    }
  }

  const Options options_;
  Tally tally_;
  std::string bytes_;  // Of the model.
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  const Stubs control_{NewChannel(options_.server)};

  client::Interrupt closing_;
  std::vector<std::shared_ptr<void>> calls_;
  std::vector<std::jthread> uploads_;  // Declared last: they use all of the above.
};

// Until the standard input ends.
void AwaitEndOfInput() {
  while (std::getchar() != EOF) {
  }
}

absl::StatusOr<bool> Run(const Options& options) {
  Crowd crowd(options);
  QUOTIENT_RETURN_IF_ERROR(crowd.Open());
  crowd.tally().Print();
  AwaitEndOfInput();
  crowd.Close();
  crowd.tally().Print();
  return true;
}

}  // namespace
}  // namespace quotient::bench

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::bench::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::bench::ParseOptions, quotient::bench::Run);
}
