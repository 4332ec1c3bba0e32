#pragma once

// A cost model whose prices a test sets, by operator.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/cost/cost_model.h"

namespace quotient::pricing {

// Kernels are called by their operator, with "+Op" for each epilogue, or "+~Op" if the running
// value is the second operand of the epilogue: "MatMul+Relu". One thread.
class ScriptedModel final : public cost::CostModel {
 public:
  explicit ScriptedModel(kernels::PartitionOptions partition = {}) : partition_(partition) {}

  static std::string NameOf(const kernels::KernelSpec& spec) {
    std::string name = spec.op;
    for (const kernels::Epilogue& each : spec.epilogue) {
      absl::StrAppend(&name, "+", each.running_is_second ? "~" : "", each.op);
    }
    return name;
  }

  // The prior of a kernel. Without one it is a microsecond.
  void SetPrior(absl::string_view kernel, double us) { priors_[std::string(kernel)] = us; }
  void SetUnsupported(absl::string_view kernel) { unsupported_.insert(std::string(kernel)); }
  // Lets a measurement arrive.
  void Measure(absl::string_view kernel, double us) {
    measured_[std::string(kernel)] = us;
    ++measurements_;
  }
  // The kernels whose prior was asked for, in that order.
  const std::vector<kernels::KernelSpec>& asked() const { return asked_; }

  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    const auto found = measured_.find(NameOf(spec));
    if (found == measured_.end()) return Prior(spec);
    return {found->second, 0, cost::CostSource::kMeasured, true};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override {
    asked_.push_back(spec);
    const std::string name = NameOf(spec);
    const auto found = priors_.find(name);
    return {.us = found == priors_.end() ? 1 : found->second,
            .unsupported = unsupported_.contains(name)};
  }
  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return measurements_; }
  void Wait(const StopCondition&) override {}
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return true; }

 private:
  const kernels::PartitionOptions partition_;
  const std::string fingerprint_ = "scripted";
  std::map<std::string, double> priors_;
  std::map<std::string, double> measured_;
  std::set<std::string> unsupported_;
  int64_t measurements_ = 0;
  std::vector<kernels::KernelSpec> asked_;
};

}  // namespace quotient::pricing
