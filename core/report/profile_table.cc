// Writes a profile as a table for a terminal.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/kernels/device_name.h"
#include "core/report/name_text.h"
#include "core/report/profile.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostKernels = 25;
constexpr size_t kMostOperators = 12;
constexpr size_t kNodeWidth = 48;

// Columns that are added up have one unit.
std::string Us(double us) { return absl::StrFormat("%.1f", us); }

std::string Us(const std::optional<double>& us) { return us ? Us(*us) : "-"; }

std::string Ratio(double predicted_us, const std::optional<double>& measured_us) {
  if (!measured_us || !(*measured_us > 0)) return "-";
  return absl::StrFormat("%.2f", predicted_us / *measured_us);
}

void AppendRow(absl::string_view predicted, absl::string_view measured, absl::string_view ratio,
               absl::string_view what, std::string* out) {
  absl::StrAppendFormat(out, "  %12s %12s %7s  %s\n", predicted, measured, ratio, what);
}

void AppendWhole(const Profile& profile, std::string* out) {
  AppendRow("predicted us", "measured us", "ratio", "", out);
  AppendRow(Us(profile.predicted_us), Us(profile.measured_us),
            Ratio(profile.predicted_us, profile.measured_us),
            absl::StrCat("whole, ", Counted(profile.runs, "run")), out);
  if (!profile.kernels_us.has_value()) return;
  AppendRow(Us(profile.predicted_us), Us(*profile.kernels_us),
            Ratio(profile.predicted_us, *profile.kernels_us),
            "sum of its kernels, each by its own runs", out);
}

void AppendOperators(const Profile& profile, std::string* out) {
  absl::StrAppend(out, "\n  by operator\n");
  for (size_t i = 0; i < std::min(profile.operators.size(), kMostOperators); ++i) {
    const ProfiledOperator& row = profile.operators[i];
    AppendRow(Us(row.predicted_us), Us(row.measured_us), Ratio(row.predicted_us, row.measured_us),
              absl::StrCat(Escaped(row.op), " x ", row.kernels), out);
  }
  if (profile.operators.size() > kMostOperators) {
    absl::StrAppend(out, "  ... and ", profile.operators.size() - kMostOperators, " more\n");
  }
}

std::string KernelText(const ProfiledKernel& kernel) {
  return absl::StrCat(
      kernel.times > 1 ? absl::StrCat("x ", kernel.times, "  ") : "", Escaped(kernel.op), " ",
      Escaped(kernel.operands),
      kernel.node.empty() ? "" : absl::StrCat("  (", ShortName(kernel.node, kNodeWidth), ")"));
}

void AppendKernels(const Profile& profile, std::string* out) {
  absl::StrAppend(out, "\n  by kernel, equal ones together, the widest gap first\n");
  const size_t shown = std::min(profile.kernels.size(), kMostKernels);
  for (size_t i = 0; i < shown; ++i) {
    const ProfiledKernel& kernel = profile.kernels[i];
    AppendRow(absl::StrCat(EstimateMark(kernel.estimated), Us(kernel.predicted_us)),
              Us(kernel.measured_us), Ratio(kernel.predicted_us, kernel.measured_us),
              KernelText(kernel), out);
  }
  const size_t left_out = profile.kernels.size() - shown;
  if (left_out == 0) return;
  ProfiledKernel rest;
  for (size_t i = shown; i < profile.kernels.size(); ++i) {
    const ProfiledKernel& kernel = profile.kernels[i];
    rest.predicted_us += kernel.predicted_us;
    if (kernel.measured_us) rest.measured_us = rest.measured_us.value_or(0) + *kernel.measured_us;
  }
  AppendRow(Us(rest.predicted_us), Us(rest.measured_us), Ratio(rest.predicted_us, rest.measured_us),
            left_out == 1 ? "one other kind of kernel"
                          : absl::StrCat("the other ", left_out, " kinds of kernels"),
            out);
}

}  // namespace

std::string ToTable(const Profile& profile) {
  std::string out = absl::StrCat(Escaped(profile.model_name), ": profile on ", profile.device, " (",
                                 Escaped(kernels::DeviceName(profile.fingerprint)), "), ",
                                 Counted(profile.threads, "thread"), "\n\n");
  AppendWhole(profile, &out);
  AppendOperators(profile, &out);
  AppendKernels(profile, &out);
  const bool any_estimated =
      std::ranges::any_of(profile.kernels, [](const auto& each) { return each.estimated; });
  if (any_estimated) absl::StrAppend(&out, "  ~ estimated, since the device does not time it\n");
  for (const std::string& note : profile.notes) {
    absl::StrAppend(&out, "\n  note: ", Printable(note), "\n");
  }
  return out;
}

}  // namespace quotient::report
