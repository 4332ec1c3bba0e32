#pragma once

// KernelPrices: the kernels of a job, what is known of each, and what graphs are made of. One for
// all workspaces of a search, so that what one of them asks for serves all, and what was valued
// once can be valued again without going there.
//
// Kernels of promising graphs are asked for as soon as somebody values one, and nobody waits: what
// has arrived counts from the next Update on.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/base/fingerprint.h"
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

  // The number of a kernel: for equal specs the same.
  int IndexOf(kernels::KernelSpec spec) ABSL_LOCKS_EXCLUDED(mutex_);
  kernels::KernelSpec Spec(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  // By its number: what is up, and what the model says where nothing was measured.
  cost::KernelCost Price(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  cost::KernelCost Prior(int kernel) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Goes up when prices change.
  int64_t version() const { return version_.load(std::memory_order_acquire); }

  // Asks for measurements of kernels, each once; how many had none and were not asked for before.
  int Request(std::span<const int> kernels) ABSL_LOCKS_EXCLUDED(mutex_);
  // How many were asked for altogether.
  int num_requested() const ABSL_LOCKS_EXCLUDED(mutex_);

  // A kernel as often as a graph has it; less where a part of its work is saved.
  struct Part {
    int kernel;
    float amount;
  };
  // The bill of a graph that somebody has valued. Sorted, each kernel once.
  search::BillId BillOf(std::span<const Part> parts) ABSL_LOCKS_EXCLUDED(mutex_);

  // Different ones.
  size_t num_bills() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Without asking for kernels of what is promising now.
  bool UpdateOnly() ABSL_LOCKS_EXCLUDED(mutex_);

  bool HasNews() const override ABSL_LOCKS_EXCLUDED(mutex_);
  bool Update() override ABSL_LOCKS_EXCLUDED(mutex_);
  double CostOf(search::BillId bill) const override ABSL_LOCKS_EXCLUDED(mutex_);
  bool BestIsKnown() const override ABSL_LOCKS_EXCLUDED(mutex_);
  void AwaitBest(const StopCondition& stop) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Kernel {
    kernels::KernelSpec spec;
    bool requested = false;
    cost::KernelCost cost;
  };
  struct Bill {
    uint32_t begin;  // of its parts
    uint32_t end;
    double cost = 0;
    bool requested = false;  // all of its kernels
  };

  bool Ask(int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);  // of all bills
  absl::flat_hash_map<Fingerprint::Value, search::BillId> bill_by_parts_ ABSL_GUARDED_BY(mutex_);
  size_t best_ ABSL_GUARDED_BY(mutex_) = 0;  // the first of the cheapest bills
  // Measurements that had arrived at the last Update, and when it was counted which are under way.
  int64_t seen_ ABSL_GUARDED_BY(mutex_);
  int64_t counted_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> under_way_ ABSL_GUARDED_BY(mutex_);  // kernels
  int num_requested_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::pricing
