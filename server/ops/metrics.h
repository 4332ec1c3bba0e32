#pragma once

// The current values of the metrics in metric_table.h.
//
//   metrics.Add(MetricId::kUploads, {"committed"});
//   metrics.Observe(MetricId::kJobQueueSeconds, {}, seconds);

#include <prometheus/registry.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/ops/metric_table.h"

namespace quotient::ops {

// Label values in the order of the table's labels.
using LabelValues = std::initializer_list<absl::string_view>;

std::map<std::string, std::string> Labels(MetricId id, LabelValues values);

// Thread-safe. Counters and histograms whose label values the table knows are there from the start,
// at zero; others once they are counted, be it by 0. A gauge is there once it is set.
class Metrics {
 public:
  Metrics();

  void Add(MetricId id, LabelValues labels, double amount = 1);
  void Set(MetricId id, LabelValues labels, double value);
  void Observe(MetricId id, LabelValues labels, double value);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
  std::map<MetricId, prometheus::Family<prometheus::Counter>*> counters_;
  std::map<MetricId, prometheus::Family<prometheus::Gauge>*> gauges_;
  std::map<MetricId, prometheus::Family<prometheus::Histogram>*> histograms_;
};

}  // namespace quotient::ops
