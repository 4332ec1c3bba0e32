// quotient profile: compares predicted and measured times of a model.

#include <cstdio>
#include <memory>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/local.h"
#include "client/cli/output.h"
#include "client/cpp/model_files.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/report/profile.h"

namespace quotient::cli {

absl::Status RunProfile(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  // The file is created first, so that a wrong path is reported at once.
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::AtomicFile> page, CreateFile(settings.html));
  QUOTIENT_ASSIGN_OR_RETURN(const report::Profile profile,
                            ProfileLocally(model, settings, interrupt));
  if (page != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(page->Append(report::ToHtml(profile)));
    QUOTIENT_RETURN_IF_ERROR(page->Commit());
  }
  const std::string text =
      settings.json ? report::ToJson(profile) : Printable(report::ToTable(profile));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
