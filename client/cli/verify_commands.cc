// quotient validate, verify: what a job would make of a model, and whether what it made is right.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/device_snapshot.h"
#include "client/cli/json.h"
#include "client/cli/remote.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/validate.h"
#include "proto/wire/validation.h"

namespace quotient::cli {
namespace {

absl::StatusOr<v1::ValidateModelResponse> ValidateHere(const client::LocalModel& model,
                                                       const Settings& settings,
                                                       client::Interrupt* interrupt) {
  CancelToken token;
  const client::Interrupt::Handler cancel(interrupt, [&token] { token.Cancel(); });
  QUOTIENT_ASSIGN_OR_RETURN(
      const optimize::Validation validation,
      optimize::ValidateModel(model.View(), settings.options, StopCondition(&token)));
  return wire::ToProto(validation);
}

std::string TextOf(const absl::Status& untouched) {
  if (untouched.ok()) return "a job would look for a faster model\n";
  const std::optional<Reason> reason = GetReason(untouched);
  return absl::StrCat(
      "a job would return the model as it came: ", reason.has_value() ? ReasonName(*reason) : "",
      ": ", untouched.message(), "\n");
}

}  // namespace

absl::StatusOr<ExitCode> RunValidate(const Settings& parsed, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Settings settings, WithDeviceSnapshot(parsed));
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  v1::ValidateModelResponse response;
  if (settings.local) {
    QUOTIENT_ASSIGN_OR_RETURN(response, ValidateHere(model, settings, interrupt));
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(Remote remote, Connect(settings, interrupt));
    QUOTIENT_ASSIGN_OR_RETURN(response, ValidateOnServer(model, settings, remote));
  }
  if (settings.json) {
    PrintJson(response);
  } else {
    const optimize::Validation validation = wire::FromProto(response);
    std::string text = TextOf(validation.untouched);
    for (const std::string& note : validation.notes) absl::StrAppend(&text, "note: ", note, "\n");
    std::fputs(Printable(text).c_str(), stdout);
  }
  return response.has_untouched() ? kExitNo : kExitDone;
}

absl::StatusOr<ExitCode> RunVerify(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(settings, interrupt));
  v1::VerifyResultRequest request;
  request.set_name(settings.positional[0]);
  if (settings.verify_seed.has_value()) request.set_seed(*settings.verify_seed);
  if (settings.verify_sets.has_value()) request.set_verify_inputs(*settings.verify_sets);
  QUOTIENT_ASSIGN_OR_RETURN(const v1::VerifyResultResponse response, remote.jobs->Verify(request));
  if (settings.json) {
    std::fputs(Printable(response.comparison_json()).c_str(), stdout);
  } else {
    std::printf("%s: the result %s the same as its model\n", Escaped(request.name()).c_str(),
                response.is_same() ? "is" : "is not");
  }
  return response.is_same() ? kExitDone : kExitNo;
}

}  // namespace quotient::cli
