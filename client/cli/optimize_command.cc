// quotient optimize, inspect: the commands that run in this process or on a server.

#include <cstdio>
#include <string>

#include "client/cli/command_deadline.h"
#include "client/cli/commands.h"
#include "client/cli/device_snapshot.h"
#include "client/cli/local.h"
#include "client/cli/locked_job.h"
#include "client/cli/output.h"
#include "client/cli/remote.h"
#include "client/cli/run_job.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "proto/wire/status.h"

namespace quotient::cli {
namespace {

absl::StatusOr<std::string> InspectRemotely(const client::LocalModel& model,
                                            const Settings& settings,
                                            client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(Remote remote, Connect(settings, interrupt));
  v1::InspectModelRequest request;
  QUOTIENT_ASSIGN_OR_RETURN(*request.mutable_model(), UploadModel(model, remote));
  request.set_model_name(wire::Utf8(model.name()));
  return remote.jobs->Inspect(request);
}

absl::Status Optimize(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  QUOTIENT_ASSIGN_OR_RETURN(Output output, Output::Prepare(settings, ExternalDataOf(model)));
  const auto write = [&](ResultSource& result) {
    return output.Write(result, ExternalDataOf(model));
  };
  return settings.lock.empty() ? RunJob(model, settings, interrupt, write)
                               : RunLockedJob(model, settings, interrupt, write);
}

}  // namespace

absl::Status RunOptimize(const Settings& parsed, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Settings settings, WithDeviceSnapshot(parsed));
  const CommandDeadline deadline(settings.max_seconds, interrupt);
  return deadline.Explained(Optimize(settings, interrupt));
}

absl::Status RunInspect(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  QUOTIENT_ASSIGN_OR_RETURN(
      const std::string summary,
      settings.local ? InspectLocally(model) : InspectRemotely(model, settings, interrupt));
  std::fputs(Printable(summary).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
