#pragma once

// KernelCosts: what the kernels of one workspace cost by the chosen basis.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/cost/cost_model.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/partition.h"
#include "core/model/attribute.h"
#include "core/pricing/kernel_prices.h"

namespace quotient::pricing {

// The cost of what must not be chosen.
inline constexpr double kImpossible = std::numeric_limits<double>::infinity();

// What costs are based on. E-nodes that are not in the original and whose kernel is unsupported are
// always infinitely expensive.
enum class CostBasis {
  kKnown,         // Measurements, and the prior for kernels without one.
  kMeasuredOnly,  // As kKnown, but kernels that the original lacks cost infinity unless measured.
  kPrior,         // The prior alone.
};

// A copy of the prices of all kernels up to the highest number that occurs in a workspace, to be
// read without a lock. One thread.
class KernelCosts {
 public:
  // Borrows `prices`. `constant_footprint_log2` and the partition options of the prices' cost model
  // become part of every kernel's spec.
  KernelCosts(KernelPrices* prices, int constant_footprint_log2)
      : prices_(*prices),
        partition_(prices->model().partition()),
        footprint_log2_(constant_footprint_log2) {}

  const kernels::PartitionOptions& partition() const { return partition_; }
  KernelPrices& prices() const { return prices_; }

  // The number of a kernel (KernelPrices::IndexOf); -1 if nothing runs.
  int IndexOf(absl::string_view op, const model::AttributeMap& attributes,
              std::vector<kernels::Operand> inputs, std::vector<model::TensorType> outputs);

  // The number of the kernel that brings a value from one layout into another one.
  int IndexOfReorder(const model::TensorType& type, kernels::Layout from, kernels::Layout to);

  // The cost of a kernel. `original`: whether a node of the original graph runs as it, so that it
  // is possible whatever is known of it.
  double CostOf(int kernel, bool original) const {
    const cost::KernelCost& cost = costs_[kernel];
    if (original || IsPossible(cost)) return cost.us;
    return kImpossible;
  }

  double Rank(int kernel) const { return ranks_[kernel]; }  // KernelPrices::Rank

  void SetBasis(CostBasis basis) { basis_ = basis; }
  // Reads the prices again if they have changed since they were read.
  void Refresh() {
    if (prices_.version() != version_) Read();
  }
  // Reads the prices again.
  void Read();

 private:
  bool IsPossible(const cost::KernelCost& cost) const {
    return !cost.unsupported &&
           (basis_ != CostBasis::kMeasuredOnly || cost.source != cost::CostSource::kModel);
  }
  int NumberOf(kernels::KernelSpec spec);
  cost::KernelCost Known(int kernel) const;

  KernelPrices& prices_;
  const kernels::PartitionOptions& partition_;
  const int footprint_log2_;
  CostBasis basis_ = CostBasis::kKnown;
  std::vector<cost::KernelCost> costs_;  // By number of the kernel.
  std::vector<double> ranks_;            // Parallel to costs_.
  int64_t version_ = 0;                  // Version of the prices in costs_.
};

}  // namespace quotient::pricing
