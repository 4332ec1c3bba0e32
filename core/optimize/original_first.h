#pragma once

// The original first: costs by which what a rule has made is chosen only if it is cheaper than what
// the original has by more than chance. Prices that are measured are off by a percent or so. Of
// several forms that take about the same time, one is the cheapest by chance, and another job would
// choose another one. So a kernel that the original does not have must be worth that percent.

#include <span>

#include "core/egraph/egraph.h"
#include "core/extract/extract.h"

namespace quotient::optimize {

// By how much prices may be off that were measured in a runtime that optimizes files by itself.
// Relative. An executor that fuses what our partition says has other errors: there a rewrite that
// removes an operator from the back of a kernel saves less than this of it, and is worth having.
inline constexpr double kPriceError = 0.01;

// Thread-safe if `costs` is. Borrows both.
class OriginalFirst final : public extract::CostFunction {
 public:
  // E-nodes that rules made cost more than by `costs`, by this share of it.
  OriginalFirst(const egraph::EGraph& graph, const extract::CostFunction& costs, double share)
      : graph_(graph), costs_(costs), share_(share) {}

  double Cost(egraph::ENodeId node) const override {
    const bool is_original = graph_.origin(node) == egraph::kInputOrigin;
    return costs_.Cost(node) * (is_original ? 1 : 1 + share_);
  }
  std::span<const extract::Fusion> Fusions() const override { return costs_.Fusions(); }
  std::span<const extract::SharedKernel> SharedKernels() const override {
    return costs_.SharedKernels();
  }

 private:
  const egraph::EGraph& graph_;
  const extract::CostFunction& costs_;
  const double share_;
};

}  // namespace quotient::optimize
