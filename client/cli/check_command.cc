// quotient check: compares two models.

#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cpp/model_files.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/compare_models.h"
#include "core/report/comparison.h"

namespace quotient::cli {
namespace {

// An error says which of the two models it is about.
absl::StatusOr<client::LocalModel> OpenModel(const std::string& path) {
  absl::StatusOr<client::LocalModel> model = client::LocalModel::Open(path);
  const std::optional<Reason> reason = GetReason(model.status());
  const bool says_which = absl::StrContains(model.status().message(), path);
  if (model.ok() || !reason.has_value() || says_which) return model;
  return MakeError(*reason, absl::StrCat(Escaped(path), ": ", model.status().message()));
}

}  // namespace

absl::StatusOr<ExitCode> RunCheck(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel first, OpenModel(settings.positional[0]));
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel second, OpenModel(settings.positional[1]));
  optimize::ModelFiles files = first.View();
  optimize::ModelFiles others = second.View();
  files.name = settings.positional[0];  // Both files may have the same name.
  others.name = settings.positional[1];
  CancelToken token;
  const client::Interrupt::Handler cancel(interrupt, [&token] { token.Cancel(); });
  QUOTIENT_ASSIGN_OR_RETURN(
      const report::Comparison comparison,
      optimize::CompareModels(files, others, settings.options, StopCondition(&token)));
  const std::string text =
      settings.json ? report::ToJson(comparison) : Printable(report::ToText(comparison));
  std::fputs(text.c_str(), stdout);
  return comparison.is_same ? kExitDone : kExitNo;
}

}  // namespace quotient::cli
