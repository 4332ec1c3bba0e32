#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/work.h"

namespace quotient::cost {
namespace {

// The roofline is off by a similar factor on kernels that are limited in the same way, by
// arithmetic or by memory.
enum class Kind { kProduct, kOther };

Kind KindOf(const kernels::KernelSpec& spec) {
  return WorkOf(spec).k > 0 ? Kind::kProduct : Kind::kOther;
}

// With fewer measured kernels of a kind than this, the median over all kernels is more reliable.
constexpr size_t kLeastOfAKind = 3;

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// By what factor the measured kernels of a graph took longer than their prior, by kind.
class Slowdowns {
 public:
  Slowdowns(CostModel& model, const GraphCost& graph) {
    // By kernel key, so that a kernel counts once however often the graph uses it.
    std::map<std::string, double> ratios;
    std::map<Kind, std::map<std::string, double>> by_kind;
    for (size_t i = 0; i < graph.groups.size(); ++i) {
      if (graph.costs[i].source != CostSource::kMeasured) continue;
      const kernels::KernelSpec& spec = graph.groups[i].spec;
      const double prior = model.Prior(spec).us;
      if (!(prior > 0)) continue;
      const std::string key = kernels::KernelKey(spec);
      ratios[key] = by_kind[KindOf(spec)][key] = graph.costs[i].us / prior;
    }
    of_all_ = Typical(ratios);
    for (const auto& [kind, some] : by_kind) {
      if (some.size() >= kLeastOfAKind) of_kind_[kind] = Typical(some);
    }
  }

  double Of(const kernels::KernelSpec& spec) const {
    const auto found = of_kind_.find(KindOf(spec));
    return found == of_kind_.end() ? of_all_ : found->second;
  }

 private:
  // At least 1: a kernel that beat its prior does not mean that others will.
  static double Typical(const std::map<std::string, double>& ratios) {
    std::vector<double> values;
    for (const auto& [key, ratio] : ratios) values.push_back(ratio);
    return values.empty() ? 1 : std::max(1.0, MedianOf(std::move(values)));
  }

  double of_all_ = 1;
  std::map<Kind, double> of_kind_;
};

class CalibratedCostModel : public CostModel {
 public:
  CalibratedCostModel(CostModel* model, const GraphCost& graph)
      : model_(*model), slowdowns_(model_, graph) {}

  KernelCost Estimate(const kernels::KernelSpec& spec) override {
    KernelCost cost = model_.Estimate(spec);
    if (cost.source == CostSource::kModel) cost.us *= slowdowns_.Of(spec);
    return cost;
  }

  KernelCost Prior(const kernels::KernelSpec& spec) override { return model_.Prior(spec); }
  void Request(const kernels::KernelSpec& spec) override { model_.Request(spec); }
  int64_t measurements() const override { return model_.measurements(); }
  void Wait(const StopCondition& stop) override { model_.Wait(stop); }
  const kernels::PartitionOptions& partition() const override { return model_.partition(); }
  const std::string& fingerprint() const override { return model_.fingerprint(); }
  bool measures() const override { return model_.measures(); }
  bool knows_measurements() const override { return model_.knows_measurements(); }

 private:
  CostModel& model_;
  const Slowdowns slowdowns_;
};

}  // namespace

std::unique_ptr<CostModel> NewCalibratedCostModel(CostModel* model, const GraphCost& graph) {
  return std::make_unique<CalibratedCostModel>(model, graph);
}

}  // namespace quotient::cost
