// How long a server takes to answer, one call after the other; --help has the options.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "proto/wire/digest.h"
#include "tests/bench/service/calls.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient::bench {
namespace {

constexpr char kUsage[] =
    R"(usage: service_probe --server HOST:PORT --model FILE --rounds N

Makes N rounds of calls, one after the other, on a connection of its own, and prints how long each
kind took, as JSON: {"submit": {"n": 1000, "p50_ms": ..., "p99_ms": ..., "max_ms": ...}, ...}.

  submit       SubmitJob of a new job
  first event  the same, and WatchJob up to its first message
  get          GetJob of a job that has ended
  lookup       LookupResult, which finds that job
  cache hit    SubmitJob of an equal job, which finds it, too

With N = 0 it runs that job to its end, which has to come first, and prints nothing.
)";
constexpr Program kProgram = {"service_probe", kUsage};

struct Options {
  std::string server;
  std::string model;
  std::optional<int64_t> rounds;
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {TextFlag("--server", options.server), TextFlag("--model", options.model),
                        NumberFlag("--rounds", 0, options.rounds)};
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, /*others=*/nullptr));
  if (options.server.empty() || options.model.empty() || !options.rounds.has_value()) {
    return absl::InvalidArgumentError("--server, --model and --rounds are needed");
  }
  return options;
}

// How long calls of one kind took.
class Latencies {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }

  std::string Json() {
    std::ranges::sort(seconds_);
    return absl::StrFormat(R"({"n": %d, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f})",
                           seconds_.size(), Quantile(0.5), Quantile(0.99), Quantile(1));
  }

 private:
  // In milliseconds: the least time within which this share of the calls was answered.
  double Quantile(double share) const {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(seconds_.size())));
    return 1e3 * seconds_[std::max<size_t>(rank, 1) - 1];
  }

  std::vector<double> seconds_;
};

class Probe {
 public:
  Probe(const std::string& server, const v1::ModelManifest& model)
      : stubs_(NewChannel(server)), model_(model) {}

  // The job whose result is found later.
  absl::Status RunJob() {
    QUOTIENT_ASSIGN_OR_RETURN(const auto submitted, Submit(CheapJob(model_, /*seed=*/0)));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, AwaitEnd(*stubs_.jobs, submitted.job().name()));
    if (job.state() == v1::JOB_STATE_SUCCEEDED) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the job failed: ", job.error().message()));
  }

  absl::Status Round(uint64_t seed) {
    QUOTIENT_RETURN_IF_ERROR(SubmitAndWatch(seed));
    const v1::SubmitJobRequest equal = CheapJob(model_, /*seed=*/0);
    v1::LookupResultRequest lookup;
    *lookup.mutable_model() = equal.model();
    *lookup.mutable_options() = equal.options();
    v1::GetJobRequest get;
    QUOTIENT_RETURN_IF_ERROR(Time("lookup", [&]() -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(
          const v1::Job job, Call(*stubs_.jobs, &v1::OptimizerService::Stub::LookupResult, lookup));
      get.set_name(job.name());
      return absl::OkStatus();
    }));
    QUOTIENT_RETURN_IF_ERROR(Time("cache hit", [&]() -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(const auto response, Submit(equal));
      if (response.disposition() == v1::SubmitJobResponse::CACHE_HIT) return absl::OkStatus();
      return absl::InternalError("an equal job was not found");
    }));
    return Time("get", [&] {
      return Call(*stubs_.jobs, &v1::OptimizerService::Stub::GetJob, get).status();
    });
  }

  void Print() {
    const char* separator = "{";
    for (auto& [kind, latencies] : latencies_) {
      std::printf("%s\"%s\": %s", separator, kind.c_str(), latencies.Json().c_str());
      separator = ", ";
    }
    std::printf("}\n");
  }

 private:
  absl::StatusOr<v1::SubmitJobResponse> Submit(const v1::SubmitJobRequest& request) {
    return Call(*stubs_.jobs, &v1::OptimizerService::Stub::SubmitJob, request);
  }

  // Cancels the job in the end, so that the queue does not grow with the rounds.
  absl::Status SubmitAndWatch(uint64_t seed) {
    const int64_t start_ns = Clock::System().NowNs();
    v1::WatchJobRequest watch;
    QUOTIENT_RETURN_IF_ERROR(Time("submit", [&]() -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(const auto response, Submit(CheapJob(model_, seed)));
      watch.set_name(response.job().name());
      return absl::OkStatus();
    }));
    grpc::ClientContext context;
    const auto reader = stubs_.jobs->WatchJob(&context, watch);
    v1::WatchJobResponse event;
    if (!reader->Read(&event)) return client::FromGrpc(reader->Finish());
    latencies_["first event"].Add(Clock::System().SecondsSince(start_ns));
    context.TryCancel();
    reader->Finish();
    v1::CancelJobRequest cancel;
    cancel.set_name(watch.name());
    return Call(*stubs_.jobs, &v1::OptimizerService::Stub::CancelJob, cancel).status();
  }

  template <typename Function>
  absl::Status Time(const std::string& kind, Function function) {
    const int64_t start_ns = Clock::System().NowNs();
    const absl::Status status = function();
    latencies_[kind].Add(Clock::System().SecondsSince(start_ns));
    return status;
  }

  const Stubs stubs_;
  const v1::ModelManifest model_;
  std::map<std::string, Latencies> latencies_;  // By kind.
};

absl::StatusOr<bool> Run(const Options& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(options.model));
  const BlobId id = BlobId::Of(bytes);
  QUOTIENT_RETURN_IF_ERROR(Upload(*Stubs(NewChannel(options.server)).blobs, id, bytes));
  v1::ModelManifest model;
  *model.mutable_graph() = wire::ToProto(id);
  Probe probe(options.server, model);
  if (options.rounds == 0) {
    QUOTIENT_RETURN_IF_ERROR(probe.RunJob());
    return true;
  }
  // No earlier run had these seeds, which would make its jobs equal.
  const auto first_seed = static_cast<uint64_t>(Clock::System().UnixMs()) << 20;
  for (int64_t round = 0; round < *options.rounds; ++round) {
    QUOTIENT_RETURN_IF_ERROR(probe.Round(first_seed + static_cast<uint64_t>(round)));
  }
  probe.Print();
  return true;
}

}  // namespace
}  // namespace quotient::bench

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::bench::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::bench::ParseOptions, quotient::bench::Run);
}
