#include "core/pricing/kernel_prices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "core/base/digest.h"

namespace quotient::pricing {
namespace {

using search::BillId;

// Measurements are requested for the kernels of graphs that cost at most this share more than the
// best graph.
constexpr double kPromisingWithin = 0.02;
// The limit on requested measurements that have not arrived; kernels of the best graph are
// requested nevertheless. About as many are measured in one batch. A longer queue would delay the
// measurements for a better graph that is found in the meantime.
constexpr size_t kMostUnderWay = 32;

bool MayRequest(const cost::KernelCost& cost) {
  return cost.source == cost::CostSource::kModel && !cost.settled;
}

double RankOf(const std::string& key) {
  const Digest digest = Digest::Of(key);
  return (256.0 * digest.bytes()[0] + digest.bytes()[1]) / 0x10000;
}

}  // namespace

KernelPrices::KernelPrices(cost::CostModel* model)
    : model_(*model), seen_(model->measurements()), counted_(seen_) {}

int KernelPrices::IndexOf(kernels::KernelSpec spec) {
  std::string key = kernels::KernelKey(spec);
  const absl::MutexLock lock(&mutex_);
  const auto [entry, fresh] =
      kernel_by_key_.try_emplace(std::move(key), static_cast<int>(kernels_.size()));
  if (fresh) {
    const cost::KernelCost cost = model_.Estimate(spec);
    kernels_.push_back({std::move(spec), RankOf(entry->first), false, cost});
  }
  return entry->second;
}

kernels::KernelSpec KernelPrices::Spec(int kernel) const {
  absl::MutexLock lock(&mutex_);
  return kernels_[kernel].spec;
}

double KernelPrices::Rank(int kernel) const {
  const absl::MutexLock lock(&mutex_);
  return kernels_[kernel].rank;
}

cost::KernelCost KernelPrices::Price(int kernel) const {
  const absl::MutexLock lock(&mutex_);
  return kernels_[kernel].cost;
}

cost::KernelCost KernelPrices::Prior(int kernel) const {
  const absl::MutexLock lock(&mutex_);
  return model_.Prior(kernels_[kernel].spec);
}

int KernelPrices::Request(std::span<const int> kernels) {
  const absl::MutexLock lock(&mutex_);
  int fresh = 0;
  for (const int kernel : kernels) fresh += RequestKernel(kernel);
  return fresh;
}

int KernelPrices::num_measured() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<int>(std::ranges::count_if(kernels_, [this](const Kernel& kernel) {
    return kernel.requested && model_.Estimate(kernel.spec).source == cost::CostSource::kMeasured;
  }));
}

bool KernelPrices::RequestKernel(int index) {
  Kernel& kernel = kernels_[index];
  if (kernel.requested || !MayRequest(kernel.cost)) return false;
  kernel.requested = true;
  model_.Request(kernel.spec);
  under_way_.push_back(index);
  return true;
}

BillId KernelPrices::BillOf(std::span<const Part> parts) {
  SequenceHash hash;
  for (const Part& part : parts) {
    hash.Add(static_cast<uint64_t>(part.kernel) << 32 | absl::bit_cast<uint32_t>(part.amount));
  }
  const absl::MutexLock lock(&mutex_);
  const auto [entry, fresh] =
      bill_by_parts_.try_emplace(hash.value(), static_cast<uint32_t>(bills_.size()));
  if (!fresh) return entry->second;
  const auto begin = static_cast<uint32_t>(parts_.size());
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  Bill& bill = bills_.emplace_back(Bill{begin, static_cast<uint32_t>(parts_.size())});
  bill.cost = Sum(bill);
  if (bill.cost < best_cost()) best_ = bills_.size() - 1;
  if (IsPromising(bill)) RequestAll(bill);
  return entry->second;
}

size_t KernelPrices::num_bills() const {
  const absl::MutexLock lock(&mutex_);
  return bills_.size();
}

double KernelPrices::Sum(const Bill& bill) const {
  double sum = 0;
  for (uint32_t i = bill.begin; i < bill.end; ++i) {
    sum += parts_[i].amount * kernels_[parts_[i].kernel].cost.us;
  }
  return sum;
}

bool KernelPrices::IsPromising(const Bill& bill) const {
  return !bill.requested && bill.cost <= best_cost() * (1 + kPromisingWithin);
}

void KernelPrices::RequestAll(Bill& bill) {
  CountUnderWay();
  for (uint32_t i = bill.begin; i < bill.end; ++i) {
    if (under_way_.size() >= kMostUnderWay && bill.cost > best_cost()) return;
    RequestKernel(parts_[i].kernel);
  }
  bill.requested = true;
}

void KernelPrices::CountUnderWay() {
  const int64_t arrived = model_.measurements();
  if (arrived == counted_) return;
  counted_ = arrived;
  std::erase_if(under_way_, [this](int kernel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return model_.Estimate(kernels_[kernel].spec).settled;
  });
}

bool KernelPrices::HasNews() const {
  const absl::MutexLock lock(&mutex_);
  return model_.measurements() != seen_;
}

bool KernelPrices::Update() {
  const absl::MutexLock lock(&mutex_);
  const bool changed = Read();
  RequestPromising();
  return changed;
}

bool KernelPrices::UpdateOnly() {
  const absl::MutexLock lock(&mutex_);
  return Read();
}

bool KernelPrices::Read() {
  seen_ = model_.measurements();
  bool changed = false;
  for (Kernel& kernel : kernels_) {
    if (kernel.cost.settled) continue;
    const cost::KernelCost cost = model_.Estimate(kernel.spec);
    changed |= cost.us != kernel.cost.us;
    kernel.cost = cost;
  }
  if (changed) Reprice();
  return changed;
}

void KernelPrices::Reprice() {
  version_.fetch_add(1, std::memory_order_release);
  for (Bill& bill : bills_) bill.cost = Sum(bill);
  best_ = std::ranges::min_element(bills_, {}, &Bill::cost) - bills_.begin();
}

// The cheapest graphs come first.
void KernelPrices::RequestPromising() {
  std::vector<Bill*> promising;
  for (Bill& bill : bills_) {
    if (IsPromising(bill)) promising.push_back(&bill);
  }
  std::ranges::stable_sort(promising, {}, &Bill::cost);
  for (Bill* const bill : promising) RequestAll(*bill);
}

bool KernelPrices::BestIsKnown() const {
  const absl::MutexLock lock(&mutex_);
  if (bills_.empty()) return true;
  const auto known = [this](const Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !MayRequest(kernels_[part.kernel].cost);
  };
  const Bill& best = bills_[best_];
  return std::all_of(parts_.begin() + best.begin, parts_.begin() + best.end, known);
}

void KernelPrices::AwaitBest(const StopCondition& stop) {
  mutex_.Lock();
  if (!bills_.empty()) RequestAll(bills_[best_]);
  mutex_.Unlock();
  model_.Wait(stop);
}

double KernelPrices::CostOf(BillId bill) const {
  const absl::MutexLock lock(&mutex_);
  return bills_[bill.value()].cost;
}

}  // namespace quotient::pricing
