#include "tests/bench/networks/network_picture.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/report/cost_line.h"
#include "core/report/html.h"

namespace quotient {
namespace {

using report::CostFrame;
using report::HtmlEscaped;
using report::SearchStep;

constexpr double kPanelWidth = 400;
constexpr double kPanelHeight = 250;
constexpr double kLegendHeight = 40;
constexpr size_t kMostColumns = 3;
// Around the lines, within a panel: for the name and what is written along the axes.
constexpr double kLeft = 76;
constexpr double kRight = 16;
constexpr double kAbove = 30;
constexpr double kBelow = 44;

// Lines differ in color and in their dashes: where some lie upon each other, all are seen.
constexpr int kNumStyles = 6;
constexpr char kStyle[] = R"css(
text{font:12px system-ui,sans-serif;fill:#5b6675}.name{font-weight:600;fill:#1c2430}.end{text-anchor:end}.mid{text-anchor:middle}
.paper{fill:#fff}.grid{stroke:#d9dfe7}polyline,.key{fill:none;stroke-width:2;stroke-linejoin:round}
.s0{stroke:#1d6fb8}.s1{stroke:#c2410c;stroke-dasharray:7 3}.s2{stroke:#15803d;stroke-dasharray:2 3}
.s3{stroke:#9333ea;stroke-dasharray:9 3 2 3}.s4{stroke:#a16207;stroke-dasharray:4 6}.s5{stroke:#be185d;stroke-dasharray:1 6}
@media(prefers-color-scheme:dark){text{fill:#9aa6b6}.name{fill:#e6ebf2}.paper{fill:#1a212b}.grid{stroke:#34404f}
.s0{stroke:#6cb6ff}.s1{stroke:#ff9d5c}.s2{stroke:#4cc38a}.s3{stroke:#c99bff}.s4{stroke:#e3b341}.s5{stroke:#ff8ac0}}
)css";

// What one strategy did in a panel.
struct Line {
  std::string strategy;
  std::vector<SearchStep> steps;
  double seconds = 0;
};

struct Panel {
  std::string network;
  std::string device;
  std::vector<Line> lines;
};

double CostAt(const NetworkRun& run, double seconds) {
  const auto later = std::ranges::upper_bound(run.best_costs, seconds, {}, &SearchStep::seconds);
  return later == run.best_costs.begin() ? later->cost_us : std::prev(later)->cost_us;
}

// The median of falling costs falls.
std::vector<SearchStep> MedianSteps(const SeedRuns& runs) {
  std::vector<double> moments;
  for (const NetworkRun* run : runs) {
    for (const SearchStep& step : run->best_costs) moments.push_back(step.seconds);
  }
  std::ranges::sort(moments);
  std::vector<SearchStep> steps;
  for (const double seconds : moments) {
    std::vector<double> costs;
    for (const NetworkRun* run : runs) costs.push_back(CostAt(*run, seconds));
    const double cost = timing::Median(std::move(costs));
    if (steps.empty() || cost < steps.back().cost_us) steps.push_back({seconds, 0, cost});
  }
  return steps;
}

class Picture {
 public:
  explicit Picture(std::span<const NetworkRun> runs) {
    for (const SeedRuns& group : BySeeds(runs)) Add(group);
    // Devices side by side, to be compared.
    size_t in_a_row = 0;
    while (in_a_row < panels_.size() && panels_[in_a_row].network == panels_[0].network) ++in_a_row;
    columns_ = in_a_row > 1 ? in_a_row : std::clamp<size_t>(panels_.size(), 1, kMostColumns);
    SetTime();
  }

  std::string Draw() const {
    const size_t rows = (panels_.size() + columns_ - 1) / columns_;
    const double width = kPanelWidth * static_cast<double>(columns_);
    const double height = kLegendHeight + kPanelHeight * static_cast<double>(rows);
    std::string svg = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
        "height=\"%g\" role=\"img\"><title>Best cost over time</title><style>%s</style>"
        "<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n",
        width, height, width, height, kStyle, width, height);
    svg += Legend();
    for (size_t i = 0; i < panels_.size(); ++i) {
      absl::StrAppendFormat(&svg, "<g transform=\"translate(%g %g)\">\n",
                            kPanelWidth * static_cast<double>(i % columns_),
                            kLegendHeight + kPanelHeight * static_cast<double>(i / columns_));
      absl::StrAppend(&svg, DrawPanel(panels_[i]), "</g>\n");
    }
    return svg + "</svg>\n";
  }

 private:
  void Add(const SeedRuns& runs) {
    const NetworkRun& first = *runs.front();
    if (std::ranges::find(strategies_, first.strategy) == strategies_.end()) {
      strategies_.push_back(first.strategy);
    }
    auto panel = std::ranges::find_if(panels_, [&](const Panel& other) {
      return other.network == first.network && other.device == first.device;
    });
    if (panel == panels_.end()) {
      panel = panels_.insert(panels_.end(), {first.network, first.device, {}});
    }
    std::vector<SearchStep> steps = MedianSteps(runs);
    const double seconds = std::max(*MedianOver(runs, &NetworkRun::seconds), steps.back().seconds);
    panel->lines.push_back({first.strategy, std::move(steps), seconds});
  }

  // From the first improvement of all on, in whole powers of ten.
  void SetTime() {
    double first = 1;
    double last = 0;
    for (const Panel& panel : panels_) {
      for (const Line& line : panel.lines) {
        if (line.steps.size() > 1) first = std::min(first, line.steps[1].seconds);
        last = std::max(last, line.seconds);
      }
    }
    first_seconds_ = std::pow(10, std::floor(std::log10(std::max(first, 1e-4))));
    last_seconds_ = std::max(last, 10 * first_seconds_);
  }

  CostFrame FrameOf(const Panel& panel) const {
    double least = panel.lines[0].steps[0].cost_us;
    double most = least;
    for (const Line& line : panel.lines) {
      most = std::max(most, line.steps.front().cost_us);
      least = std::min(least, line.steps.back().cost_us);
    }
    const double room = most > least ? 0.05 * (most - least) : std::max(0.01 * most, 1e-3);
    return {.left = kLeft,
            .top = kAbove,
            .width = kPanelWidth - kLeft - kRight,
            .height = kPanelHeight - kAbove - kBelow,
            .first_seconds = first_seconds_,
            .last_seconds = last_seconds_,
            .least_us = least - room,
            .most_us = most + room};
  }

  size_t StyleOf(absl::string_view strategy) const {
    const auto at = std::ranges::find(strategies_, strategy);
    return static_cast<size_t>(at - strategies_.begin()) % kNumStyles;
  }

  std::string Legend() const;
  std::string DrawPanel(const Panel& panel) const;

  std::vector<std::string> strategies_;
  std::vector<Panel> panels_;
  size_t columns_ = 1;
  double first_seconds_ = 0;
  double last_seconds_ = 0;
};

std::string Picture::Legend() const {
  constexpr double kKeyWidth = 110;
  std::string legend;
  for (size_t i = 0; i < strategies_.size(); ++i) {
    const double x = kLeft + kKeyWidth * static_cast<double>(i);
    absl::StrAppendFormat(&legend,
                          "<path class=\"key s%d\" d=\"M%g 22h28\"/><text x=\"%g\" "
                          "y=\"26\">%s</text>\n",
                          StyleOf(strategies_[i]), x, x + 34, HtmlEscaped(strategies_[i]));
  }
  return legend;
}

// Four or so lines at round costs.
std::string CostAxis(const CostFrame& frame) {
  const double range = frame.most_us - frame.least_us;
  const double power = std::pow(10, std::floor(std::log10(range / 2)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (range / step > 5) step = factor * power;
  }
  std::string axis;
  for (double i = std::ceil(frame.least_us / step); i * step <= frame.most_us; ++i) {
    const double y = frame.Y(i * step);
    absl::StrAppendFormat(&axis,
                          "<path class=\"grid\" d=\"M%g %.1fh%g\"/><text class=\"end\" x=\"%g\" "
                          "y=\"%.1f\">%.7g</text>\n",
                          frame.left, y, frame.width, frame.left - 6, y + 4, i * step);
  }
  absl::StrAppendFormat(&axis,
                        "<text class=\"mid\" transform=\"translate(14 %g) "
                        "rotate(-90)\">best cost, us</text>\n",
                        frame.top + frame.height / 2);
  return axis;
}

// Lines at the powers of ten.
std::string TimeAxis(const CostFrame& frame) {
  const double bottom = frame.top + frame.height;
  std::string axis;
  for (double seconds = frame.first_seconds; seconds <= 1.0001 * frame.last_seconds;
       seconds *= 10) {
    const double x = frame.X(seconds);
    absl::StrAppendFormat(&axis,
                          "<path class=\"grid\" d=\"M%.1f %gv%g\"/><text class=\"mid\" x=\"%.1f\" "
                          "y=\"%g\">%.3g</text>\n",
                          x, frame.top, frame.height, x, bottom + 16, seconds);
  }
  absl::StrAppendFormat(&axis, "<text class=\"mid\" x=\"%g\" y=\"%g\">seconds</text>\n",
                        frame.left + frame.width / 2, bottom + 34);
  return axis;
}

std::string Picture::DrawPanel(const Panel& panel) const {
  const CostFrame frame = FrameOf(panel);
  std::string svg =
      absl::StrFormat("<text class=\"name\" x=\"%g\" y=\"20\">%s, %s</text>\n", frame.left,
                      HtmlEscaped(panel.network), HtmlEscaped(panel.device));
  absl::StrAppend(&svg, CostAxis(frame), TimeAxis(frame));
  for (const Line& line : panel.lines) {
    absl::StrAppendFormat(&svg,
                          "<polyline class=\"s%d\" points=\"%s\"><title>%s: %.7g us after %.3g "
                          "s</title></polyline>\n",
                          StyleOf(line.strategy), CostLine(frame, line.steps, line.seconds),
                          HtmlEscaped(line.strategy), line.steps.back().cost_us,
                          line.steps.back().seconds);
  }
  return svg;
}

}  // namespace

std::string DrawRuns(std::span<const NetworkRun> runs) { return Picture(runs).Draw(); }

}  // namespace quotient
