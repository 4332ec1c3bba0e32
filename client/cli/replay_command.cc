// quotient replay: makes a result once more from its model and its journal.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/made_model.h"
#include "client/cli/output.h"
#include "client/cli/remote.h"
#include "client/cpp/model_files.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/replay.h"
#include "core/os/files.h"
#include "proto/wire/digest.h"

namespace quotient::cli {
namespace {

void Print(const v1::ReplayJournalResponse& response, const Settings& settings) {
  if (settings.json) {
    PrintJson(response);
    return;
  }
  std::printf("%lld rewrites; the model that they make %s that of the result: %s\n",
              static_cast<long long>(response.rewrites()), response.is_result() ? "is" : "is not",
              response.model().sha256().c_str());
  if (response.conditions().empty()) return;
  std::printf("this follows only if %s\n",
              Printable(absl::StrJoin(response.conditions(), ", and ")).c_str());
}

absl::StatusOr<v1::ReplayJournalResponse> ReplayHere(const Settings& settings,
                                                     client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  const absl::StatusOr<std::string> journal = os::ReadFile(settings.positional[1]);
  if (!journal.ok()) return MakeError(Reason::kOptionInvalid, journal.status().message());
  const OriginalData data = ExternalDataOf(model);
  QUOTIENT_ASSIGN_OR_RETURN(Output output, Output::Prepare(settings, data));
  CancelToken token;
  const client::Interrupt::Handler cancel(interrupt, [&token] { token.Cancel(); });
  QUOTIENT_ASSIGN_OR_RETURN(
      const optimize::Replayed replayed,
      optimize::ReplayJournal(model.View(), *journal, settings.options.ThreadsToUse(),
                              StopCondition(&token)));
  MadeModel source(replayed.files);
  QUOTIENT_RETURN_IF_ERROR(output.WriteModel(source, data, replayed.is_original));
  v1::ReplayJournalResponse response;
  *response.mutable_model() = wire::ToProto(replayed.model);
  response.set_is_result(true);
  response.set_rewrites(replayed.rewrites);
  response.mutable_conditions()->Add(replayed.conditions.begin(), replayed.conditions.end());
  return response;
}

absl::StatusOr<v1::ReplayJournalResponse> ReplayOnServer(const Settings& settings,
                                                         client::Interrupt* interrupt) {
  if (!settings.output.empty()) {
    return MakeError(Reason::kOptionInvalid,
                     "-o: only with MODEL and JOURNAL; 'quotient result' gets the result of a job");
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  v1::ReplayJournalRequest request;
  request.set_name(settings.positional[0]);
  return remote.jobs->Replay(request);
}

}  // namespace

absl::StatusOr<ExitCode> RunReplay(const Settings& settings, client::Interrupt* interrupt) {
  const bool is_here = settings.positional.size() == 2;
  QUOTIENT_ASSIGN_OR_RETURN(
      const v1::ReplayJournalResponse response,
      is_here ? ReplayHere(settings, interrupt) : ReplayOnServer(settings, interrupt));
  Print(response, settings);
  return response.is_result() ? kExitDone : kExitNo;
}

}  // namespace quotient::cli
