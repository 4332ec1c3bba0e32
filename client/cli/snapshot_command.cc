// quotient snapshot: what has been measured of a device here, as a file.

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/local.h"
#include "client/cpp/typed_file.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/devices.h"
#include "core/os/atomic_file.h"
#include "core/timing/snapshot.h"

namespace quotient::cli {
namespace {

absl::StatusOr<std::unique_ptr<timing::TimingStore>> OpenTimings(const std::string& path) {
  if (path.empty()) return OpenKeptTimings();
  // A store is made where there is none, which is not what somebody means who types its name.
  QUOTIENT_RETURN_IF_ERROR(client::MapTypedFile(path).status());
  return timing::OpenFileStore(path);
}

absl::StatusOr<timing::Snapshot> Record(const Settings& settings) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<timing::TimingStore> timings,
                            OpenTimings(settings.timings));
  return optimize::Devices(timings.get())
      .Record(settings.options.device, settings.options.ThreadsToUse(),
              Clock::System().UnixMs() / 1000);
}

}  // namespace

absl::Status RunSnapshot(const Settings& settings, client::Interrupt* /*interrupt*/) {
  auto file = os::AtomicFile::Create(settings.output);
  if (!file.ok()) return MakeError(Reason::kOptionInvalid, file.status().message());
  absl::StatusOr<timing::Snapshot> snapshot = Record(settings);
  if (!snapshot.ok() && GetReason(snapshot.status()) == Reason::kOptionInvalid) {
    return Annotate(snapshot.status(),
                    settings.timings.empty() ? "the timings that --local keeps" : settings.timings);
  }
  QUOTIENT_RETURN_IF_ERROR(snapshot.status());
  const std::string text = ToText(*snapshot);
  // A file of timings is data, too: what is written can be read.
  QUOTIENT_RETURN_IF_ERROR(
      Annotate(timing::ParseSnapshot(text).status(), "the timings make no snapshot"));
  QUOTIENT_RETURN_IF_ERROR((*file)->Append(text));
  QUOTIENT_RETURN_IF_ERROR((*file)->Commit());
  std::printf("%s: %s of %s\n", settings.output.c_str(),
              Counted(std::ssize(snapshot->timings), "kernel").c_str(),
              Escaped(snapshot->fingerprint).c_str());
  return absl::OkStatus();
}

}  // namespace quotient::cli
