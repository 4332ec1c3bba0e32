#pragma once

// KernelPrices: the kernels of a job, what is known of the cost of each, and the bills of graphs,
// which list the kernels that a graph is made of. All workspaces of a search share one object, so
// that a measurement requested by one serves all, and a state that was valued once can be valued
// again at new prices without visiting it.
//
// When a workspace values a promising graph, measurements of its kernels are requested at once,
// without waiting for them. Measurements that have arrived take effect at the next Update.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/base/sequence_hash.h"
#include "core/cost/cost_model.h"
#include "core/kernels/kernel_spec.h"
#include "core/search/strategy.h"

namespace quotient::pricing {

// Thread-safe.
class KernelPrices final : public search::Prices {
 public:
  // Borrows the model.
  explicit KernelPrices(cost::CostModel* model);

  cost::CostModel& model() const { return model_; }

  // The number of the kernel with this spec. Equal specs have the same number.
  int IndexOf(kernels::KernelSpec spec) ABSL_LOCKS_EXCLUDED(mutex_);
  kernels::KernelSpec Spec(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The present price of a kernel, fixed between updates, and its prior (CostModel::Prior).
  cost::KernelCost Price(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  cost::KernelCost Prior(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Increases whenever prices change.
  int64_t version() const { return version_.load(std::memory_order_acquire); }

  // The kernel's place in a fixed order of all kernels that there may be, from 0 to 1: the same in
  // every job, and about evenly spread.
  double Rank(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Requests measurements of these kernels, except those that need none or were requested before,
  // and returns how many were requested.
  int Request(std::span<const int> kernels) ABSL_LOCKS_EXCLUDED(mutex_);
  // The number of kernels that were requested here and have been measured by now. Those without a
  // time do not count: requests that are under way, that failed, or that the device does not
  // support.
  int num_measured() const ABSL_LOCKS_EXCLUDED(mutex_);

  // How often a graph pays for a kernel. The amount is not whole if fusion saves a part of its
  // cost.
  struct Part {
    int kernel;
    float amount;
  };
  // The bill of a graph with these parts, which are sorted by kernel and contain each kernel once.
  // Requests the missing measurements if the graph is promising.
  search::BillId BillOf(std::span<const Part> parts) ABSL_LOCKS_EXCLUDED(mutex_);

  // The number of different bills.
  size_t num_bills() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Like Update, but does not request measurements for the graphs that are now promising.
  bool UpdateOnly() ABSL_LOCKS_EXCLUDED(mutex_);

  bool HasNews() const override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Update() override ABSL_LOCKS_EXCLUDED(mutex_);
  double CostOf(search::BillId bill) const override ABSL_LOCKS_EXCLUDED(mutex_);
  bool BestIsKnown() const override ABSL_LOCKS_EXCLUDED(mutex_);
  void AwaitBest(const StopCondition& stop) override ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveWay(const StopCondition& stop) override { model_.GiveWay(stop); }

 private:
  struct Kernel {
    kernels::KernelSpec spec;
    double rank;
    bool requested = false;
    cost::KernelCost cost;
  };
  struct Bill {
    uint32_t begin;  // Range of its parts in parts_.
    uint32_t end;
    double cost = 0;
    bool requested = false;  // Whether all of its kernels were requested or need no measurement.
  };

  bool RequestKernel(int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double best_cost() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return bills_[best_].cost; }
  bool IsPromising(const Bill& bill) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RequestPromising() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RequestAll(Bill& bill) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountUnderWay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reprice() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double Sum(const Bill& bill) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  cost::CostModel& model_;
  std::atomic<int64_t> version_{0};
  mutable absl::Mutex mutex_;
  std::vector<Kernel> kernels_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> kernel_by_key_ ABSL_GUARDED_BY(mutex_);
  std::vector<Bill> bills_ ABSL_GUARDED_BY(mutex_);
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);  // Parts of all bills.
  absl::flat_hash_map<SequenceHash::Value, search::BillId> bill_by_parts_ ABSL_GUARDED_BY(mutex_);
  size_t best_ ABSL_GUARDED_BY(mutex_) = 0;  // Index of the first of the cheapest bills.
  // The model's count of arrived measurements at the last Update, and when under_way_ was last
  // cleaned up.
  int64_t seen_ ABSL_GUARDED_BY(mutex_);
  int64_t counted_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> under_way_ ABSL_GUARDED_BY(mutex_);  // Kernels requested but not measured yet.
};

}  // namespace quotient::pricing
