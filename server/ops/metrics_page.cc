#include "server/ops/metrics_page.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/ops/metric_table.h"

namespace quotient::ops {
namespace {

constexpr char kHead[] =
    R"(# Metrics of quotientd

What `GET /metrics` has on the address of `--metrics-listen`. The metric table of the server writes this page:
`build/dev/bin/quotientd --metrics-page > deploy/METRICS.md`.

Counters and histograms exist from the start, at zero, with all values of their labels that are listed here; a gauge is
there once its value is known. Counters begin anew with each process. Methods and codes are spelled as Go's gRPC does,
so dashboards for `grpc_server_*` fit.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
)";

// Of the values of a label in the table. Longer lists are below it.
constexpr size_t kMostCharacters = 120;

const char* TypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

// The values of the label at a place, in the order in which they occur.
std::vector<std::string> ValuesOf(const MetricSpec& spec, size_t place) {
  if (spec.series.empty()) return spec.labels[place].values;
  std::vector<std::string> values;
  for (const SeriesValues& series : spec.series) {
    if (std::ranges::find(values, series[place]) == values.end()) values.push_back(series[place]);
  }
  return values;
}

std::string ListText(std::vector<std::string> values) {
  for (std::string& value : values) value = value.empty() ? "empty" : absl::StrCat("`", value, "`");
  return absl::StrJoin(values, ", ");
}

std::string LabelText(const MetricSpec& spec, size_t place) {
  const std::vector<std::string> values = ValuesOf(spec, place);
  const std::string name = absl::StrCat("`", spec.labels[place].name, "`");
  if (values.empty()) return absl::StrCat(name, ": what occurs");
  const std::string list = ListText(values);
  return absl::StrCat(name, ": ", list.size() > kMostCharacters ? "see below" : list);
}

std::string RowText(const MetricSpec& spec) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < spec.labels.size(); ++i) labels.push_back(LabelText(spec, i));
  return absl::StrCat("| `", spec.name, "` | ", TypeName(spec.type), " | ",
                      absl::StrJoin(labels, "<br>"), " | ", spec.help, " |\n");
}

// Long lists, by the name of their label.
std::string LongListsText() {
  std::map<std::string, std::string> lists;
  for (const MetricSpec& spec : AllMetrics()) {
    for (size_t i = 0; i < spec.labels.size(); ++i) {
      std::string list = ListText(ValuesOf(spec, i));
      if (list.size() > kMostCharacters) lists[spec.labels[i].name] = std::move(list);
    }
  }
  std::string text;
  for (const auto& [name, list] : lists) {
    absl::StrAppend(&text, "- `", name, "`: ", list, "\n");
  }
  return text;
}

// Where the buckets of histograms end, for each group of histograms with the same ones.
std::string BucketsText() {
  std::map<std::vector<double>, std::vector<std::string>> groups;
  for (const MetricSpec& spec : AllMetrics()) {
    if (spec.type != MetricType::kHistogram) continue;
    groups[{spec.buckets.begin(), spec.buckets.end()}].push_back(spec.name);
  }
  std::string text;
  for (const auto& [bounds, names] : groups) {
    const bool is_whole = bounds.front() >= 1;
    std::vector<std::string> numbers;
    for (const double bound : bounds) {
      numbers.push_back(is_whole ? absl::StrCat(static_cast<int64_t>(bound)) : absl::StrCat(bound));
    }
    absl::StrAppend(&text, "- ", ListText(names), ": ", absl::StrJoin(numbers, ", "), "\n");
  }
  return text;
}

}  // namespace

std::string MetricsPage() {
  std::string page = kHead;
  for (const MetricSpec& spec : AllMetrics()) absl::StrAppend(&page, RowText(spec));
  absl::StrAppend(&page, "\n## Long lists of label values\n\n", LongListsText(),
                  "\n## Bounds of the buckets of histograms\n\n", BucketsText());
  return page;
}

}  // namespace quotient::ops
