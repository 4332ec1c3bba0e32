// quotient simplify: makes a model smaller without a device.

#include <cstdio>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/made_model.h"
#include "client/cli/output.h"
#include "client/cpp/model_files.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/stop.h"
#include "core/optimize/simplify.h"
#include "core/report/simplification.h"

namespace quotient::cli {

absl::Status RunSimplify(const Settings& settings, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  const OriginalData data = ExternalDataOf(model);
  QUOTIENT_ASSIGN_OR_RETURN(Output output, Output::Prepare(settings, data));
  CancelToken token;
  const client::Interrupt::Handler cancel(interrupt, [&token] { token.Cancel(); });
  QUOTIENT_ASSIGN_OR_RETURN(
      const optimize::Simplified simplified,
      optimize::Simplify(model.View(), settings.options, ExternalLocation(settings.output),
                         Clock::System(), StopCondition(&token)));
  MadeModel source(simplified.files);
  QUOTIENT_RETURN_IF_ERROR(
      output.WriteModel(source, data, /*is_original=*/!simplified.report.is_simplified));
  const std::string text = settings.json ? report::ToJson(simplified.report)
                                         : Printable(report::ToText(simplified.report));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
