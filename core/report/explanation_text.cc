// An explanation as lines for a terminal. What is worth most comes first.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/kernels/device_name.h"
#include "core/report/explanation.h"
#include "core/report/explanation_words.h"
#include "core/report/gain_text.h"
#include "core/report/name_text.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostMissed = 20;
constexpr size_t kMostKernels = 12;
constexpr size_t kMostFused = 15;
constexpr size_t kMostRewrites = 12;
constexpr size_t kSiteWidth = 48;
constexpr char kIndent[] = "                      ";  // As wide as the columns of the peak.

std::string Us(double us, bool estimated) {
  return absl::StrCat(EstimateMark(estimated), absl::StrFormat("%.1f us", us));
}

// The columns at the left of all parts: a time, and what share of the original it is.
void AppendTime(const Explanation& explanation, double us, bool estimated, absl::string_view what,
                std::string* out) {
  const double all = explanation.original.us;
  absl::StrAppendFormat(out, "  %14s %7s  %s\n", Us(us, estimated),
                        all > 0 ? absl::StrFormat("%.1f %%", 100 * us / all) : "", what);
}

void AppendBelow(absl::string_view what, std::string* out) {
  absl::StrAppendFormat(out, "%26s%s\n", "", what);
}

void AppendRest(size_t left, absl::string_view what, std::string* out) {
  if (left > 0) AppendBelow(absl::StrCat("... and ", left, " more ", what), out);
}

void AppendMissed(const Explanation& explanation, std::string* out) {
  if (explanation.missed.empty()) return;
  absl::StrAppend(out, "\n  not fused, by the time of the kernels that stand alone\n");
  const size_t shown = std::min(explanation.missed.size(), kMostMissed);
  for (size_t i = 0; i < shown; ++i) {
    const MissedFusion& missed = explanation.missed[i];
    const std::string site = missed.sites.empty() ? "" : ShortName(missed.sites[0], kSiteWidth);
    AppendTime(explanation, missed.us, missed.estimated,
               absl::StrCat(Escaped(missed.what), ", ",
                            missed.sites.size() == 1
                                ? absl::StrCat("at ", site)
                                : absl::StrCat(Counted(std::ssize(missed.sites), "place"),
                                               ", first at ", site)),
               out);
    AppendBelow(absl::StrCat("because ", Escaped(missed.text)), out);
    AppendBelow(DoneText(missed.done), out);
  }
  AppendRest(explanation.missed.size() - shown, "kinds of places", out);
}

void AppendKernels(const Explanation& explanation, std::string* out) {
  if (!explanation.peak.has_value()) return;
  absl::StrAppend(out, "\n  farthest from the peak of this device: ", PeakText(*explanation.peak),
                  "\n");
  absl::StrAppendFormat(out, "  %14s %7s  %12s %6s\n", "time", "of all", "at the peak", "share");
  const size_t shown = std::min(explanation.below_peak.size(), kMostKernels);
  for (size_t i = 0; i < shown; ++i) {
    const KernelsBelowPeak& kernels = explanation.below_peak[i];
    AppendTime(
        explanation, kernels.us, kernels.estimated,
        absl::StrFormat("%12s %5.0f %%  %s%s %s", absl::StrFormat("%.1f us", kernels.at_peak_us),
                        100 * kernels.share(),
                        kernels.places > 1 ? absl::StrCat("x ", kernels.places, "  ") : "",
                        Escaped(kernels.kernel), Escaped(kernels.operands)),
        out);
    const std::string where = kernels.site.empty()
                                  ? ""
                                  : absl::StrCat(", ", kernels.places > 1 ? "first at " : "at ",
                                                 ShortName(kernels.site, kSiteWidth));
    AppendBelow(absl::StrCat(kIndent, BoundText(kernels), where), out);
    if (kernels.done.remedy != Remedy::kNone) {
      AppendBelow(absl::StrCat(kIndent, DoneText(kernels.done)), out);
    }
  }
  AppendRest(explanation.below_peak.size() - shown, "kinds of kernels", out);
}

void AppendFused(const Explanation& explanation, std::string* out) {
  if (explanation.fused.empty()) return;
  absl::StrAppend(out, "\n  fused\n");
  const size_t shown = std::min(explanation.fused.size(), kMostFused);
  for (size_t i = 0; i < shown; ++i) {
    const FusedKernels& fused = explanation.fused[i];
    AppendTime(explanation, fused.us, fused.estimated,
               absl::StrCat(Escaped(fused.operators), " -> ", Escaped(fused.kernel), ": ",
                            Counted(fused.places, "place")),
               out);
  }
  AppendRest(explanation.fused.size() - shown, "kinds of kernels", out);
}

void AppendByRuntime(const Explanation& explanation, std::string* out) {
  if (explanation.by_runtime.empty()) return;
  absl::StrAppend(out,
                  "\n  rewrites that leave the kernels as they are: the runtime makes them "
                  "itself, or undoes them\n");
  std::vector<std::string> texts;
  const size_t shown = std::min(explanation.by_runtime.size(), kMostRewrites);
  for (size_t i = 0; i < shown; ++i) {
    const RuntimeRewrite& rewrite = explanation.by_runtime[i];
    texts.push_back(absl::StrCat(rewrite.rule, ": ", Counted(rewrite.places, "place")));
  }
  const size_t left = explanation.by_runtime.size() - shown;
  if (left > 0) texts.push_back(absl::StrCat("and ", left, " more"));
  absl::StrAppend(out, "    ", absl::StrJoin(texts, "; "), "\n");
}

}  // namespace

std::string ExplanationText(const Report& report) {
  if (!report.explanation.has_value()) return "";
  const Explanation& explanation = *report.explanation;
  std::string out = absl::StrCat(Escaped(report.model_name), ": explained for ",
                                 Escaped(kernels::DeviceName(report.fingerprint)), ", ",
                                 Counted(report.threads, "thread"), "\n\n");
  absl::StrAppend(&out, "  ", VerdictText(explanation), "\n  ", ResultText(report), "\n");
  AppendMissed(explanation, &out);
  AppendKernels(explanation, &out);
  AppendFused(explanation, &out);
  AppendByRuntime(explanation, &out);
  absl::StrAppend(&out, "\n  Times are predicted: sums of kernels that were each timed alone.\n");
  if (report.original.kernels.estimated > 0) {
    absl::StrAppend(&out, "  ~ estimated and not measured, at least in part\n");
  }
  for (const std::string& note : report.notes) {
    absl::StrAppend(&out, "  note: ", Printable(note), "\n");
  }
  return out;
}

}  // namespace quotient::report
