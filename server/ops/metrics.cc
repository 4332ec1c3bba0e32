#include "server/ops/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace quotient::ops {
namespace {

template <typename Values>
std::map<std::string, std::string> LabelsOf(const MetricSpec& spec, const Values& values) {
  std::map<std::string, std::string> labels;
  auto value = values.begin();
  for (const MetricLabel& label : spec.labels) labels.emplace(label.name, std::string(*value++));
  return labels;
}

prometheus::Histogram::BucketBoundaries BucketsOf(const MetricSpec& spec) {
  return {spec.buckets.begin(), spec.buckets.end()};
}

}  // namespace

std::map<std::string, std::string> Labels(MetricId id, LabelValues values) {
  return LabelsOf(Spec(id), values);
}

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  for (const MetricSpec& spec : AllMetrics()) {
    if (spec.is_collected) continue;
    const auto build = [&](auto builder) {
      return &builder.Name(spec.name).Help(spec.help).Register(*registry_);
    };
    switch (spec.type) {
      case MetricType::kCounter:
        counters_[spec.id] = build(prometheus::BuildCounter());
        for (const SeriesValues& values : SeriesOf(spec)) {
          counters_[spec.id]->Add(LabelsOf(spec, values));
        }
        break;
      case MetricType::kGauge:
        gauges_[spec.id] = build(prometheus::BuildGauge());
        break;
      case MetricType::kHistogram:
        histograms_[spec.id] = build(prometheus::BuildHistogram());
        for (const SeriesValues& values : SeriesOf(spec)) {
          histograms_[spec.id]->Add(LabelsOf(spec, values), BucketsOf(spec));
        }
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

void Metrics::Observe(MetricId id, LabelValues labels, double value) {
  histograms_.at(id)->Add(Labels(id, labels), BucketsOf(Spec(id))).Observe(value);
}

}  // namespace quotient::ops
