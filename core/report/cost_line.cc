#include "core/report/cost_line.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace quotient::report {

double CostFrame::X(double seconds) const {
  if (seconds <= first_seconds) return left;
  const double share = std::log(seconds / first_seconds) / std::log(last_seconds / first_seconds);
  return left + width * std::min(share, 1.0);
}

double CostFrame::Y(double cost_us) const {
  if (cost_us >= most_us) return top;
  return top + height * std::min((most_us - cost_us) / (most_us - least_us), 1.0);
}

std::string CostLine(const CostFrame& frame, std::span<const SearchStep> steps,
                     double end_seconds) {
  if (steps.empty()) return "";
  double y = frame.Y(steps.front().cost_us);
  std::string points = absl::StrFormat("%.1f,%.1f", frame.left, y);
  for (const SearchStep& step : steps.subspan(1)) {
    const double x = frame.X(step.seconds);
    absl::StrAppendFormat(&points, " %.1f,%.1f", x, y);
    y = frame.Y(step.cost_us);
    absl::StrAppendFormat(&points, " %.1f,%.1f", x, y);
  }
  absl::StrAppendFormat(&points, " %.1f,%.1f", frame.X(end_seconds), y);
  return points;
}

}  // namespace quotient::report
