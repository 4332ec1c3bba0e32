#pragma once

// The surcharge on rewrites: kernels that the original does not have are chosen only if they are
// cheaper by more than chance. Measured prices are off by a percent or so. Of several forms that
// take about the same time one is the cheapest by chance, and another job would choose another one.
// So the surcharge is not the same for all kernels. A fixed order of them, which has nothing to do
// with prices, says how much each pays, and so decides between forms that cost about the same.

#include "core/egraph/egraph.h"
#include "core/extract/cost_decorator.h"
#include "core/pricing/enode_costs.h"

namespace quotient::optimize {

// The surcharge on devices that run files, as a share of the price: by how much prices may be off
// that were measured in a runtime that optimizes files by itself. On other devices there is none.
// Their executor runs the kernels that it is priced by, and most of what rewrites save there are
// operators at the back of a kernel, which cost less than a percent of it.
inline constexpr double kSurchargeInFiles = 0.01;

// The costs of e-nodes with the surcharge. An e-node that a rule has made pays it if the original
// has no such kernel: half of it to one and a half times of it. If the original has such a kernel,
// the kernels have one price and only a tie is decided: the e-node then pays a hundredth of the
// surcharge. What fusions save, and kernels that several e-nodes share, cost the same as without.
class RewriteSurcharge final : public extract::CostDecorator {
 public:
  // Borrows both.
  RewriteSurcharge(const egraph::EGraph& graph, const pricing::ENodeCosts& costs, double share)
      : CostDecorator(costs), graph_(graph), costs_(costs), share_(share) {}

  // What a kernel pays lies between these times the share.
  static constexpr double kLeast = 0.5;
  static constexpr double kMost = 1.5;

  double share() const { return share_; }
  double Cost(egraph::ENodeId node) const override {
    return costs_.Cost(node) * (1 + ShareOf(node));
  }

 private:
  double ShareOf(egraph::ENodeId node) const {
    constexpr double kOfTies = 0.01;
    if (graph_.origin(node) == egraph::kInputOrigin) return 0;
    if (costs_.HasKernelOfOriginal(node)) return kOfTies * share_;
    return (kLeast + (kMost - kLeast) * costs_.RankOfKernel(node)) * share_;
  }

  const egraph::EGraph& graph_;
  const pricing::ENodeCosts& costs_;
  const double share_;
};

}  // namespace quotient::optimize
