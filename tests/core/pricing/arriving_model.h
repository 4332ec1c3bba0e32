#pragma once

// A cost model whose measurements arrive when a test says so. Until then, a Slice costs an eighth
// of a microsecond, and every other kernel one microsecond.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/cost/cost_model.h"

namespace quotient::pricing {

// Thread-safe.
class ArrivingModel final : public cost::CostModel {
 public:
  using Truth = std::function<double(const kernels::KernelSpec& spec)>;
  explicit ArrivingModel(Truth truth) : truth_(std::move(truth)) {}

  // Lets all requested measurements arrive.
  void Arrive() {
    const absl::MutexLock lock(&mutex_);
    ArriveLocked();
  }
  // After `looks` further calls of measurements(), every call first lets all requested measurements
  // arrive.
  void ArriveAfter(int looks) {
    const absl::MutexLock lock(&mutex_);
    looks_ = looks;
  }
  // From now on, Wait lets nothing arrive.
  void Withhold() {
    const absl::MutexLock lock(&mutex_);
    withheld_ = true;
  }
  int times_given_way() const {
    const absl::MutexLock lock(&mutex_);
    return times_given_way_;
  }
  int waits() const {
    const absl::MutexLock lock(&mutex_);
    return waits_;
  }
  // The number of requests for each kernel.
  std::map<std::string, int> Requests() const {
    const absl::MutexLock lock(&mutex_);
    return requests_;
  }
  size_t num_waiting() const {
    const absl::MutexLock lock(&mutex_);
    return waiting_.size();
  }

  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    const absl::MutexLock lock(&mutex_);
    const auto found = measured_.find(kernels::KernelKey(spec));
    if (found == measured_.end()) return Prior(spec);
    return {found->second, 0, cost::CostSource::kMeasured, true};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override {
    return {spec.op == "Slice" ? 0.125 : 1, 0, cost::CostSource::kModel};
  }
  void Request(const kernels::KernelSpec& spec) override {
    const absl::MutexLock lock(&mutex_);
    ++requests_[kernels::KernelKey(spec)];
    waiting_.push_back(spec);
  }
  int64_t measurements() const override {
    const absl::MutexLock lock(&mutex_);
    if (looks_ == 0) ArriveLocked();
    if (looks_ > 0) --looks_;
    return static_cast<int64_t>(measured_.size());
  }
  // Lets all requested measurements arrive at once, unless Withhold was called.
  void Wait(const StopCondition&) override {
    const absl::MutexLock lock(&mutex_);
    ++waits_;
    if (!withheld_) ArriveLocked();
  }
  void GiveWay(const StopCondition&) override {
    const absl::MutexLock lock(&mutex_);
    ++times_given_way_;
  }
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return true; }

 private:
  void ArriveLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const kernels::KernelSpec& spec : waiting_) {
      measured_[kernels::KernelKey(spec)] = truth_(spec);
    }
    waiting_.clear();
  }

  const Truth truth_;
  const std::string fingerprint_ = "arriving";
  const kernels::PartitionOptions partition_;
  mutable absl::Mutex mutex_;
  bool withheld_ ABSL_GUARDED_BY(mutex_) = false;
  int waits_ ABSL_GUARDED_BY(mutex_) = 0;
  int times_given_way_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable int looks_ ABSL_GUARDED_BY(mutex_) =
      -1;  // Calls left until measurements arrive; -1 if they do not.
  mutable absl::flat_hash_map<std::string, double> measured_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<kernels::KernelSpec> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> requests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::pricing
