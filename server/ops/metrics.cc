#include "server/ops/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace quotient::ops {
namespace {

// Cover the range from a local database commit to a long search.
const prometheus::Histogram::BucketBoundaries kSecondsBuckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};

// Whether the metric is read when it is scraped; see collectors.h.
bool IsCollected(MetricId id) {
  return id == MetricId::kJobs || id == MetricId::kWatchers || id >= MetricId::kProcessCpuSeconds;
}

}  // namespace

std::map<std::string, std::string> Labels(MetricId id, LabelValues values) {
  std::map<std::string, std::string> labels;
  auto value = values.begin();
  for (const char* name : Spec(id).labels) labels.emplace(name, std::string(*value++));
  return labels;
}

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  for (size_t i = 0; i < AllMetrics().size(); ++i) {
    const auto id = static_cast<MetricId>(i);
    if (IsCollected(id)) continue;
    const MetricSpec& spec = Spec(id);
    const auto build = [&](auto builder) {
      return &builder.Name(spec.name).Help(spec.help).Register(*registry_);
    };
    switch (spec.type) {
      case MetricType::kCounter:
        counters_[id] = build(prometheus::BuildCounter());
        break;
      case MetricType::kGauge:
        gauges_[id] = build(prometheus::BuildGauge());
        break;
      case MetricType::kHistogram:
        histograms_[id] = build(prometheus::BuildHistogram());
        break;
    }
  }
}

void Metrics::Add(MetricId id, LabelValues labels, double amount) {
  counters_.at(id)->Add(Labels(id, labels)).Increment(amount);
}

void Metrics::Set(MetricId id, LabelValues labels, double value) {
  gauges_.at(id)->Add(Labels(id, labels)).Set(value);
}

void Metrics::Observe(MetricId id, LabelValues labels, double seconds) {
  histograms_.at(id)->Add(Labels(id, labels), kSecondsBuckets).Observe(seconds);
}

}  // namespace quotient::ops
