#include "tests/bench/networks/network_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace quotient {
namespace {

using Cells = std::vector<std::string>;

std::string Text(double value) { return absl::StrFormat("%.7g", value); }
std::string Text(const std::optional<double>& value) { return value ? Text(*value) : ""; }

double ReductionPercent(double before, double after) {
  return before > 0 ? 100 * (before - after) / before : 0;
}
std::string Percent(double value) { return absl::StrFormat("%.1f", value); }

// The best that PACT'24 published for the network with any of its settings: run time on its GPU
// that was saved, in percent.
std::optional<double> PublishedPercent(absl::string_view network) {
  struct Row {
    absl::string_view network;
    double percent;
  };
  static constexpr Row kRows[] = {
      {"bert", 33.7},        {"nasrnn", 18.9},     {"resnet50", 0.8},
      {"resnext50", 28.9},   {"nasnet", 23.4},     {"inception_v3", 18.9},
      {"mobilenet_v2", 1.0}, {"squeezenet", 33.2}, {"vgg19", 14.8},
  };
  const auto row = std::ranges::find(kRows, network, &Row::network);
  if (row == std::end(kRows)) return std::nullopt;
  return row->percent;
}

// The costs after of all seeds, the least first.
std::vector<double> CostsAfter(const SeedRuns& runs) {
  std::vector<double> costs;
  for (const NetworkRun* run : runs) costs.push_back(run->cost_after_us);
  std::ranges::sort(costs);
  return costs;
}

std::string SimulationsPerSecond(const SeedRuns& runs) {
  int64_t simulations = 0;
  double seconds = 0;
  for (const NetworkRun* run : runs) {
    simulations += run->simulations;
    seconds += run->seconds;
  }
  if (simulations == 0) return "-";  // not one of those that simulate
  return absl::StrFormat("%.0f", static_cast<double>(simulations) / seconds);
}

// What the search saw itself save: the costs of e-nodes know less of fusion than the prediction of
// a whole graph, so the two differ.
double MedianSearchedPercent(const SeedRuns& runs) {
  std::vector<double> percents;
  for (const NetworkRun* run : runs) {
    const auto& steps = run->best_costs;
    percents.push_back(ReductionPercent(steps.front().cost_us, steps.back().cost_us));
  }
  return timing::Median(std::move(percents));
}

enum class Kind { kMeasured, kModel, kModelOfPapers };

Cells Head(Kind kind) {
  Cells head = {"network",   "strategy", "before us", "least us",
                "median us", "less %",   "searched %"};
  if (kind == Kind::kModelOfPapers) head.push_back("published %");
  if (kind == Kind::kMeasured) {
    head.insert(head.end(), {"measured us", "measured after", "less %", "error"});
  }
  head.insert(head.end(), {"s to 1 %", "seconds", "simulations/s", "e-nodes", "spread %"});
  return head;
}

Cells SummaryCells(const SeedRuns& runs, Kind kind) {
  const NetworkRun& first = *runs.front();
  const double before = *MedianOver(runs, &NetworkRun::cost_before_us);
  const double after = *MedianOver(runs, &NetworkRun::cost_after_us);
  const std::vector<double> costs = CostsAfter(runs);
  Cells cells = {first.network,
                 first.strategy,
                 absl::StrFormat("%.2f", before),
                 absl::StrFormat("%.2f", costs.front()),
                 absl::StrFormat("%.2f", after),
                 Percent(ReductionPercent(before, after)),
                 Percent(MedianSearchedPercent(runs))};
  if (kind == Kind::kModelOfPapers) {
    const auto published = first.of_papers ? PublishedPercent(first.network) : std::nullopt;
    cells.push_back(published ? Percent(*published) : "-");
  }
  if (kind == Kind::kMeasured) {
    const auto measured_before = MedianOver(runs, &NetworkRun::measured_before_us);
    const auto measured_after = MedianOver(runs, &NetworkRun::measured_after_us);
    const bool known = measured_before && measured_after;
    cells.push_back(known ? absl::StrFormat("%.1f", *measured_before) : "-");
    cells.push_back(known ? absl::StrFormat("%.1f", *measured_after) : "-");
    cells.push_back(known ? Percent(ReductionPercent(*measured_before, *measured_after)) : "-");
    const auto error = MedianOver(runs, &NetworkRun::error_norm);
    cells.push_back(error ? absl::StrFormat("%.1e", *error) : "-");
  }
  const auto to_1_percent = MedianOver(runs, &NetworkRun::seconds_to_1_percent);
  cells.push_back(to_1_percent ? absl::StrFormat("%.3f", *to_1_percent) : "-");
  cells.push_back(absl::StrFormat("%.3f", *MedianOver(runs, &NetworkRun::seconds)));
  cells.push_back(SimulationsPerSecond(runs));
  cells.push_back(absl::StrFormat("%.0f", *MedianOver(runs, &NetworkRun::enodes)));
  const double least = costs.front();
  cells.push_back(absl::StrFormat("%.2f", least > 0 ? 100 * (costs.back() / least - 1) : 0));
  return cells;
}

// Columns as wide as they have to be; the first two are words, the others numbers.
std::string Aligned(std::span<const Cells> lines) {
  std::vector<size_t> widths;
  for (const Cells& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      absl::StrAppendFormat(&text, "%s%*s", i == 0 ? "" : "  ", i < 2 ? -width : width, line[i]);
    }
    text += '\n';
  }
  return text;
}

Kind KindOf(std::span<const SeedRuns> groups) {
  if (!groups.front().front()->on_model) return Kind::kMeasured;
  const bool of_papers =
      std::ranges::any_of(groups, [](const SeedRuns& runs) { return runs.front()->of_papers; });
  return of_papers ? Kind::kModelOfPapers : Kind::kModel;
}

std::string DeviceSummary(std::span<const SeedRuns> groups) {
  const Kind kind = KindOf(groups);
  std::vector<Cells> lines = {Head(kind)};
  for (const SeedRuns& runs : groups) lines.push_back(SummaryCells(runs, kind));
  return absl::StrCat("\n", groups.front().front()->device, "\n", Aligned(lines));
}

}  // namespace

std::vector<std::string> RunColumns() {
  return {"network",
          "device",
          "strategy",
          "seed",
          "cost_before_us",
          "cost_after_us",
          "measured_before_us",
          "measured_after_us",
          "error_norm",
          "seconds",
          "seconds_to_1_percent",
          "simulations",
          "enodes"};
}

std::vector<std::string> RunCells(const NetworkRun& run) {
  return {run.network,
          run.device,
          run.strategy,
          absl::StrCat(run.seed),
          Text(run.cost_before_us),
          Text(run.cost_after_us),
          Text(run.measured_before_us),
          Text(run.measured_after_us),
          Text(run.error_norm),
          Text(run.seconds),
          Text(run.seconds_to_1_percent),
          absl::StrCat(run.simulations),
          absl::StrCat(run.enodes)};
}

std::string CsvLine(std::span<const std::string> cells) {
  return absl::StrJoin(cells, ",", [](std::string* line, const std::string& cell) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      absl::StrAppend(line, cell);
    } else {
      absl::StrAppend(line, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    }
  });
}

std::string CurvesOf(std::span<const NetworkRun> runs) {
  static const std::string columns[] = {"network", "device", "strategy", "seed", "at", "cost_us"};
  std::string text = CsvLine(columns) + "\n";
  for (const NetworkRun& run : runs) {
    for (const report::SearchStep& step : run.best_costs) {
      const std::string cells[] = {run.network,        run.device,
                                   run.strategy,       absl::StrCat(run.seed),
                                   Text(step.seconds), Text(step.cost_us)};
      absl::StrAppend(&text, CsvLine(cells), "\n");
    }
  }
  return text;
}

std::string Summary(std::span<const NetworkRun> runs) {
  std::vector<SeedRuns> groups = BySeeds(runs);
  std::string text;
  while (!groups.empty()) {
    const std::string& device = groups.front().front()->device;
    const auto others = std::stable_partition(
        groups.begin(), groups.end(),
        [&](const SeedRuns& group) { return group.front()->device == device; });
    text += DeviceSummary(std::span(groups.begin(), others));
    groups.erase(groups.begin(), others);
  }
  return text;
}

}  // namespace quotient
