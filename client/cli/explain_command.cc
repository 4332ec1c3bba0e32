// quotient explain: what the runtime made of a model, and why.

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/output.h"
#include "client/cli/run_job.h"
#include "client/cpp/model_files.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/device_table.h"
#include "core/os/atomic_file.h"
#include "core/report/report.h"

namespace quotient::cli {
namespace {

absl::Status NoExplanation(absl::string_view device) {
  return MakeError(Reason::kOptionInvalid,
                   absl::StrCat("device: '", device,
                                "' runs no files that it optimizes by itself, so there is nothing "
                                "to explain; these do: ",
                                optimize::AcceptedDevices(optimize::DeviceFilter::kRunsFiles)));
}

// Whether this name is one of a device that never explains anything.
bool ExplainsNothing(absl::string_view device) {
  const optimize::DeviceKind* const kind =
      optimize::FindDeviceKind(optimize::AllDeviceKinds(), device);
  return kind != nullptr && !kind->runs_files && !kind->is_name_of_others();
}

absl::Status PrintExplanation(ResultSource& result, const Settings& settings,
                              os::AtomicFile* page) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string json, result.ReportJson());
  QUOTIENT_ASSIGN_OR_RETURN(const report::Report report, report::ReportFromJson(json));
  if (ExplainsNothing(report.device)) return NoExplanation(report.device);
  if (!report.explanation.has_value()) {
    return MakeError(
        Reason::kModelUnsupported,
        absl::StrCat("the kernels of this model are not known", report.notes.empty() ? "" : ": ",
                     absl::StrJoin(report.notes, "; ")));
  }
  if (page != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::string html, result.ReportHtml());
    QUOTIENT_RETURN_IF_ERROR(page->Append(html));
    QUOTIENT_RETURN_IF_ERROR(page->Commit());
  }
  const std::string text =
      settings.json ? report::ExplanationJson(report) : Printable(report::ExplanationText(report));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunExplain(const Settings& settings, client::Interrupt* interrupt) {
  if (ExplainsNothing(settings.options.device)) return NoExplanation(settings.options.device);
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  // The file is created first, so that a wrong path is reported at once.
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::AtomicFile> page, CreateFile(settings.html));
  return RunJob(model, settings, interrupt, [&](ResultSource& result) {
    return PrintExplanation(result, settings, page.get());
  });
}

}  // namespace quotient::cli
