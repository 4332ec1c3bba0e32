#include "client/cli/improvement.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/build_failure.h"
#include "core/base/log.h"
#include "core/base/number_text.h"

namespace quotient::cli {

double GainPercent(const report::Report& report) {
  if (report.outcome == report::Outcome::kNoImprovement) return 0;
  if (report.knows_speedup()) return report.speedup_percent;
  return report.predicted_speedup_percent.value_or(0);
}

absl::Status CheckImprovement(const report::Report& report, double percent) {
  const double gain = GainPercent(report);
  if (gain >= percent) return absl::OkStatus();
  const std::string what = report.outcome == report::Outcome::kNoImprovement
                               ? "is not improved"
                               : absl::StrFormat("gains %.1f %% %s", gain,
                                                 report.knows_speedup() ? "measured" : "predicted");
  return MakeError(BuildFailure::kImprovementTooSmall,
                   absl::StrCat(Escaped(report.model_name), " ", what, ", and ",
                                NumberText(percent), " % are required (--require-improvement)"));
}

}  // namespace quotient::cli
