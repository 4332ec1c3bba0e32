// Writes a profile as one self-contained page. Its picture has a dot for each kind of kernel, to
// the right by what was measured and upward by what was predicted, both on logarithmic axes: where
// predictions come true, the dots lie on the diagonal.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/kernels/device_name.h"
#include "core/report/html.h"
#include "core/report/profile.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

constexpr size_t kMostRows = 60;

std::string Time(double us) {
  if (us >= 1e4) return absl::StrFormat("%.2f ms", us / 1e3);
  return absl::StrFormat("%.1f µs", us);
}

std::string Time(const std::optional<double>& us) { return us ? Time(*us) : "–"; }

std::string Ratio(double predicted_us, const std::optional<double>& measured_us) {
  if (!measured_us || !(*measured_us > 0)) return "–";
  return absl::StrFormat("%.2f", predicted_us / *measured_us);
}

std::string Card(absl::string_view label, absl::string_view value, absl::string_view more) {
  return absl::StrCat("<div class=\"card\"><span class=\"soft\">", label, "</span><b>", value,
                      "</b><span class=\"soft\">", more, "</span></div>");
}

std::string Summary(const Profile& profile) {
  std::string cards = absl::StrCat(
      Card("predicted", Time(profile.predicted_us), "sum of its kernels, each timed alone"),
      Card("measured", Time(profile.measured_us),
           absl::StrCat("the whole, ", Counted(profile.runs, "run"))),
      Card("predicted / measured", Ratio(profile.predicted_us, profile.measured_us), ""));
  if (profile.kernels_us.has_value()) {
    absl::StrAppend(&cards, Card("kernels inside of a run", Time(*profile.kernels_us),
                                 "sum, each by its own runs"));
  }
  return absl::StrCat("<section class=\"cards\">", cards, "</section>");
}

// The picture's square, and the range of both axes, which are logarithmic.
class Square {
 public:
  static constexpr double kSide = 420;
  static constexpr double kMargin = 46;

  Square(double least_us, double most_us)
      : least_(std::log10(least_us)), range_(std::max(std::log10(most_us) - least_, 1e-9)) {}

  double X(double us) const { return kMargin + kSide * (std::log10(us) - least_) / range_; }
  double Y(double us) const { return kSide * (1 - (std::log10(us) - least_) / range_) + 10; }

 private:
  const double least_;
  const double range_;
};

// Lines at the powers of ten, and the diagonal.
std::string Axes(const Square& square, double least_us, double most_us) {
  std::string svg;
  for (double us = least_us; us <= most_us * 1.0001; us *= 10) {
    absl::StrAppendFormat(&svg,
                          "<line class=\"band\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<line class=\"band\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<text class=\"cost\" x=\"%.1f\" y=\"%.1f\">%g µs</text>",
                          square.X(least_us), square.X(most_us), square.Y(us), square.Y(us),
                          square.X(us), square.X(us), square.Y(least_us), square.Y(most_us),
                          square.X(least_us) - 4, square.Y(us) + 4, us);
  }
  absl::StrAppendFormat(&svg,
                        "<line class=\"edge\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text class=\"cost\" x=\"%.1f\" y=\"%.1f\">measured, of one kernel</text>",
                        square.X(least_us), square.X(most_us), square.Y(least_us),
                        square.Y(most_us), square.X(most_us), square.Y(least_us) + 18);
  return svg;
}

// A dot's area grows with the share of the whole that the kernels have.
std::string Dot(const ProfiledKernel& kernel, const Square& square, double whole_us) {
  const double predicted = kernel.predicted_us / kernel.times;
  const double measured = *kernel.measured_us / kernel.times;
  const double radius = 2.5 + 22 * std::sqrt(*kernel.measured_us / whole_us);
  return absl::StrFormat(
      "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>%d x %s %s: predicted %s, "
      "measured %s</title></circle>",
      square.X(measured), square.Y(predicted), radius, kernel.times, HtmlEscaped(kernel.op),
      HtmlEscaped(kernel.operands), Time(predicted), Time(measured));
}

std::string Picture(const Profile& profile) {
  std::vector<const ProfiledKernel*> drawn;
  double least_us = 0;
  double most_us = 0;
  for (const ProfiledKernel& kernel : profile.kernels) {
    if (!(kernel.predicted_us > 0) || !(kernel.measured_us.value_or(0) > 0)) continue;
    const auto [low, high] = std::minmax(kernel.predicted_us, *kernel.measured_us);
    least_us = drawn.empty() ? low / kernel.times : std::min(least_us, low / kernel.times);
    most_us = std::max(most_us, high / kernel.times);
    drawn.push_back(&kernel);
  }
  if (drawn.empty()) return "";
  least_us = std::pow(10, std::floor(std::log10(least_us)));
  most_us = std::pow(10, std::ceil(std::log10(most_us)));
  const Square square(least_us, most_us);
  std::string svg = Axes(square, least_us, most_us);
  for (const ProfiledKernel* const kernel : drawn) {
    absl::StrAppend(&svg, Dot(*kernel, square, *profile.kernels_us));
  }
  const double width = Square::kSide + Square::kMargin + 20;
  const double height = Square::kSide + 36;
  return absl::StrFormat(
      "<section><h2>Predicted over measured</h2><svg class=\"graph\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">%s</svg><p class=\"soft\">A dot per "
      "kind of kernel: above the line it was predicted to take longer than it did inside of a run, "
      "below it shorter. Larger dots take more of the run.</p></section>",
      width, height, width, height, svg);
}

std::string Bar(const std::optional<double>& us, double largest_us, absl::string_view style) {
  if (!us.has_value()) return "";
  return absl::StrFormat("<div class=\"bar %s\" style=\"width:%.2f%%\"></div>", style,
                         100 * *us / largest_us);
}

struct BarRow {
  std::string what;  // HTML.
  double predicted_us = 0;
  std::optional<double> measured_us;
  bool estimated = false;
};

std::string BarTable(absl::string_view heading, absl::string_view what,
                     const std::vector<BarRow>& rows, size_t left_out) {
  double largest_us = 1e-9;
  for (const BarRow& row : rows) {
    largest_us = std::max({largest_us, row.predicted_us, row.measured_us.value_or(0)});
  }
  std::string html = absl::StrCat(
      "<section><h2>", heading, "</h2><table class=\"bars\"><tr><th>", what,
      "</th><th>predicted / measured</th><th class=\"num\">predicted</th><th class=\"num\">measured"
      "</th><th class=\"num\">ratio</th></tr>");
  for (const BarRow& row : rows) {
    absl::StrAppend(&html, "<tr><td>", row.what, "</td><td style=\"width:34%\">",
                    Bar(row.predicted_us, largest_us, "before"),
                    Bar(row.measured_us, largest_us, "after"), "</td><td class=\"num\">",
                    EstimateMark(row.estimated), Time(row.predicted_us), "</td><td class=\"num\">",
                    Time(row.measured_us), "</td><td class=\"num\">",
                    Ratio(row.predicted_us, row.measured_us), "</td></tr>");
  }
  absl::StrAppend(&html, "</table>");
  if (left_out > 0) absl::StrAppend(&html, "<p class=\"soft\">and ", left_out, " more</p>");
  return absl::StrCat(html, "</section>");
}

std::string Operators(const Profile& profile) {
  std::vector<BarRow> rows;
  for (const ProfiledOperator& each : profile.operators) {
    rows.push_back(
        {absl::StrCat(HtmlEscaped(each.op), " <span class=\"soft\">x ", each.kernels, "</span>"),
         each.predicted_us, each.measured_us});
  }
  return BarTable("By operator", "operator", rows, 0);
}

std::string Kernels(const Profile& profile) {
  std::vector<BarRow> rows;
  const size_t shown = std::min(profile.kernels.size(), kMostRows);
  for (size_t i = 0; i < shown; ++i) {
    const ProfiledKernel& each = profile.kernels[i];
    const std::string times =
        each.times > 1 ? absl::StrCat("<b>x ", each.times, "</b> ") : std::string();
    rows.push_back(
        {absl::StrCat(times, HtmlEscaped(each.op), " <code>", HtmlEscaped(each.operands),
                      "</code><br><span class=\"soft\">", HtmlEscaped(each.node), "</span>"),
         each.predicted_us, each.measured_us, each.estimated});
  }
  return BarTable("By kernel, equal ones together, the widest gap first", "kernel", rows,
                  profile.kernels.size() - shown);
}

std::string Circumstances(const Profile& profile) {
  std::string notes;
  for (const std::string& note : profile.notes) {
    absl::StrAppend(&notes, "<li class=\"note\">", HtmlEscaped(note), "</li>");
  }
  return absl::StrCat("<section><h2>Circumstances</h2><ul>", notes,
                      "</ul><p class=\"soft\">Device: ", HtmlEscaped(profile.device), ", ",
                      Counted(profile.threads, "thread"), "<br><code>",
                      HtmlEscaped(profile.fingerprint), "</code></p></section>");
}

}  // namespace

std::string ToHtml(const Profile& profile) {
  const std::string subtitle = absl::StrCat("profile by Quotient on ", profile.device, ": ",
                                            kernels::DeviceName(profile.fingerprint), ", ",
                                            Counted(profile.threads, "thread"));
  return HtmlPage({.title = profile.model_name, .subtitle = subtitle},
                  absl::StrCat(Summary(profile), Picture(profile), Operators(profile),
                               Kernels(profile), Circumstances(profile)));
}

}  // namespace quotient::report
