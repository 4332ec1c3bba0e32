#include "client/cli/local.h"

#include <utility>

#include "absl/strings/match.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/optimize/profile.h"
#include "core/os/files.h"

namespace quotient::cli {
namespace {

class LocalResult : public ResultSource {
 public:
  explicit LocalResult(optimize::Result result) : result_(std::move(result)) {}

  absl::Status Model(Sink sink) override { return sink(result_.files.model); }
  absl::Status ExternalData(Sink sink) override { return sink(result_.files.external_data); }
  std::string external_location() const override { return result_.files.external_location; }
  absl::StatusOr<std::string> ReportJson() override { return report::ToJson(result_.report); }
  absl::StatusOr<std::string> ReportHtml() override { return report::ToHtml(result_.report); }
  absl::StatusOr<std::string> Journal() override { return result_.journal; }

 private:
  const optimize::Result result_;
};

// Returns the kept timings, or an empty store in memory if they cannot be opened: they only save
// time.
std::unique_ptr<timing::TimingStore> OpenTimings(const os::Environment& environment) {
  absl::StatusOr<std::unique_ptr<timing::TimingStore>> kept = OpenKeptTimings(environment);
  if (kept.ok()) return *std::move(kept);
  Log().warn("timings are not kept: {}", std::string(kept.status().message()));
  return timing::NewMemoryStore();
}

// Null if the job is not to be counted, or if there is no place for that.
std::unique_ptr<timing::RuleStore> OpenStatistics(const Settings& settings) {
  const auto kept = KeptStatistics(settings.environment);
  if (!settings.keeps_statistics || !kept.ok()) return nullptr;
  return std::make_unique<timing::RuleStore>(*kept);
}

std::string CompiledFolder(const os::Environment& environment) {
  const std::string folder = CacheFolder(environment);
  return folder.empty() ? "" : folder + "/compiled";
}

// The devices of this process, with what is kept of them between runs.
struct LocalDevices {
  explicit LocalDevices(const Settings& settings)
      : timings(OpenTimings(settings.environment)),
        devices({.store = timings.get(),
                 .lane = &lane,
                 .cache_directory = CompiledFolder(settings.environment),
                 .environment = settings.environment,
                 .takes_precedence = !settings.no_precedence}),
        rule_store(OpenStatistics(settings)),
        environment{.devices = &devices,
                    .clock = Clock::System(),
                    .device_snapshot = settings.snapshot_bytes,
                    .external_location = ExternalLocation(settings.output),
                    .rule_store = rule_store.get(),
                    .wants_journal = !settings.journal.empty()} {}

  const std::unique_ptr<timing::TimingStore> timings;
  timing::Lane lane;
  optimize::Devices devices;
  const std::unique_ptr<timing::RuleStore> rule_store;
  const optimize::Environment environment;
  CancelToken token;
};

}  // namespace

std::string CacheFolder(const os::Environment& environment) {
  const std::string cache = os::ValueOf(environment, "XDG_CACHE_HOME");
  if (absl::StartsWith(cache, "/")) return cache + "/quotient";
  return environment.contains("HOME") ? environment.at("HOME") + "/.cache/quotient" : "";
}

absl::StatusOr<std::unique_ptr<timing::TimingStore>> OpenKeptTimings(
    const os::Environment& environment) {
  const std::string folder = CacheFolder(environment);
  if (folder.empty()) return absl::NotFoundError("there is no home folder");
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(folder));
  return timing::OpenFileStore(folder + "/timings.db");
}

absl::StatusOr<timing::RuleStore> KeptStatistics(const os::Environment& environment) {
  const std::string folder = CacheFolder(environment);
  if (folder.empty()) return absl::NotFoundError("there is no home folder");
  return timing::RuleStore(folder + "/rules.db");
}

absl::StatusOr<std::unique_ptr<ResultSource>> OptimizeLocally(const client::LocalModel& model,
                                                              const Settings& settings,
                                                              client::Interrupt* interrupt,
                                                              ProgressSink* progress) {
  LocalDevices local(settings);
  const client::Interrupt::Handler cancel(interrupt, [&local] { local.token.Cancel(); });
  QUOTIENT_ASSIGN_OR_RETURN(optimize::Result result,
                            optimize::Optimize(model.View(), settings.options, local.environment,
                                               StopCondition(&local.token), progress));
  return std::make_unique<LocalResult>(std::move(result));
}

absl::StatusOr<report::Profile> ProfileLocally(const client::LocalModel& model,
                                               const Settings& settings,
                                               client::Interrupt* interrupt) {
  LocalDevices local(settings);
  const client::Interrupt::Handler cancel(interrupt, [&local] { local.token.Cancel(); });
  return optimize::ProfileModel(model.View(), settings.options, local.environment,
                                StopCondition(&local.token));
}

absl::StatusOr<std::string> InspectLocally(const client::LocalModel& model) {
  return optimize::Inspect(model.View());
}

}  // namespace quotient::cli
