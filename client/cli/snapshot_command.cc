// quotient snapshot: writes the kernel timings of a device to a file.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/local.h"
#include "client/cpp/typed_file.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/device_name.h"
#include "core/optimize/devices.h"
#include "core/os/atomic_file.h"
#include "core/timing/snapshot.h"

namespace quotient::cli {
namespace {

// Numbers of kernels of a snapshot, by their states.
struct Counts {
  int64_t ok = 0;
  int64_t noisy = 0;
  int64_t unsupported = 0;

  int64_t measured() const { return ok + noisy; }
};

Counts CountKernels(const timing::Snapshot& snapshot) {
  Counts counts;
  for (const auto& [key, timing] : snapshot.timings) {
    switch (timing.state) {
      case timing::TimingState::kOk:
        ++counts.ok;
        break;
      case timing::TimingState::kNoisy:
        ++counts.noisy;
        break;
      case timing::TimingState::kUnsupported:
      case timing::TimingState::kFailed:  // Does not occur in snapshots.
        ++counts.unsupported;
        break;
    }
  }
  return counts;
}

absl::StatusOr<std::unique_ptr<timing::TimingStore>> OpenTimings(const Settings& settings) {
  const std::string& path = settings.timings;
  if (path.empty()) return OpenKeptTimings(settings.environment);
  // OpenFileStore creates a missing file, but a path that the user has typed must exist.
  QUOTIENT_RETURN_IF_ERROR(client::MapTypedFile(path).status());
  auto timings = timing::OpenFileStore(path);
  if (!timings.ok()) return MakeError(Reason::kOptionInvalid, timings.status().message());
  return timings;
}

std::string DeviceText(const timing::Snapshot& snapshot) {
  return absl::StrCat(snapshot.device, " (", kernels::DeviceNameAndThreads(snapshot.fingerprint),
                      ")");
}

// The numbers of threads whose timings are looked for, in this order. Where other work has the
// cores that the usual number of threads would need, a job measures one thread alone.
std::vector<int> ThreadsToLookFor(const optimize::Options& options) {
  const int usual = options.ThreadsToUse();
  if (options.threads > 0 || usual == 1) return {usual};
  return {usual, 1};
}

absl::StatusOr<timing::Snapshot> Record(const Settings& settings) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<timing::TimingStore> timings,
                            OpenTimings(settings));
  timing::Lane lane;
  optimize::Devices devices(
      {.store = timings.get(), .lane = &lane, .environment = settings.environment});
  std::set<std::string> missing;
  for (const int threads : ThreadsToLookFor(settings.options)) {
    QUOTIENT_ASSIGN_OR_RETURN(
        timing::Snapshot snapshot,
        devices.Record(settings.options.device, threads, Clock::System().UnixMs() / 1000));
    if (CountKernels(snapshot).measured() > 0) return snapshot;
    missing.insert(DeviceText(snapshot));
  }
  return MakeError(
      Reason::kOptionInvalid,
      absl::StrCat(settings.timings.empty() ? "the timings that --local keeps" : settings.timings,
                   ": no kernel has been measured on ", absl::StrJoin(missing, " or ")));
}

std::string SummaryText(const std::string& file, const timing::Snapshot& snapshot) {
  const Counts counts = CountKernels(snapshot);
  return absl::StrCat(file, ": ", Counted(std::ssize(snapshot.timings), "kernel"), " of ",
                      DeviceText(snapshot), ": ", counts.measured(), " measured, ", counts.noisy,
                      " of them noisy; ", counts.unsupported, " not supported there\n");
}

std::string SummaryJson(const std::string& file, const timing::Snapshot& snapshot) {
  const Counts counts = CountKernels(snapshot);
  const nlohmann::ordered_json json = {
      {"file", file},
      {"device", snapshot.device},
      {"fingerprint", snapshot.fingerprint},
      {"threads", snapshot.partition.threads},
      {"recorded", RecordedTime(snapshot)},
      {"engine", snapshot.engine},
      {"kernels",
       {{"ok", counts.ok}, {"noisy", counts.noisy}, {"unsupported", counts.unsupported}}}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::Status RunSnapshot(const Settings& settings, client::Interrupt* /*interrupt*/) {
  auto file = os::AtomicFile::Create(settings.output);
  if (!file.ok()) return MakeError(Reason::kOptionInvalid, file.status().message());
  QUOTIENT_ASSIGN_OR_RETURN(const timing::Snapshot snapshot, Record(settings));
  const std::string text = ToText(snapshot);
  // The timings come from a file that could contain anything: check that the text can be read back.
  QUOTIENT_RETURN_IF_ERROR(
      Annotate(timing::ParseSnapshot(text).status(), "the timings make no snapshot"));
  QUOTIENT_RETURN_IF_ERROR((*file)->Append(text));
  QUOTIENT_RETURN_IF_ERROR((*file)->Commit());
  std::fputs((settings.json ? SummaryJson(settings.output, snapshot)
                            : Printable(SummaryText(settings.output, snapshot)))
                 .c_str(),
             stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
