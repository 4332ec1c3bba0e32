#pragma once

// ENodeCosts: the cost of each e-node, which is that of its kernel according to the cost model.

#include <cstdint>
#include <span>
#include <vector>

#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/extract.h"
#include "core/extract/fusions.h"
#include "core/pricing/attentions.h"
#include "core/pricing/blocked_layouts.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/enode_operands.h"
#include "core/pricing/epilogues.h"
#include "core/pricing/kernel_costs.h"
#include "core/pricing/kernel_prices.h"
#include "core/pricing/slice_splits.h"

namespace quotient::pricing {

// The costs of a clean e-graph as it was at the last Refresh. Each e-node is charged for its own
// kernel, and for the changes of layout that a runtime makes around it. Kernels of several e-nodes
// are corrections of that: epilogues, attention, and Splits made of Slices, each in a part of its
// own. One thread.
class ENodeCosts final : public extract::CostFunction {
 public:
  // Borrows `tensors` and `prices`. `constant_footprint_log2` and the partition options of the
  // prices' cost model become part of every kernel's spec. Each operator that a model still has
  // costs `operator_us` beside its kernel, also one without a kernel such as a view, and a
  // thousandth more if it is not the original's: of graphs with equally many operators, that with
  // the most of the original's costs least.
  ENodeCosts(const domain::TensorEGraph& tensors, KernelPrices* prices, int constant_footprint_log2,
             double operator_us = 0);

  double Cost(egraph::ENodeId node) const override {
    return costs_[node.value()] + layout_us_[node.value()] + OperatorCost(enodes_[node.value()]);
  }
  std::span<const extract::Fusion> Fusions() const override { return fusions_; }
  std::span<const extract::SharedKernel> SharedKernels() const override { return shared_kernels_; }
  // Whether the original has a kernel like that of the e-node, or the e-node has none.
  bool HasKernelOfOriginal(egraph::ENodeId node) const;
  // KernelPrices::Rank of the e-node's kernel; 0 if it has none.
  double RankOfKernel(egraph::ENodeId node) const;
  // The Splits into which Slices among these e-nodes should be combined in the resulting graph.
  std::vector<domain::Split> SplitsAmong(std::span<const egraph::ENodeId> nodes) const;

  // Brings the costs up to date after the e-graph or the prices have changed. E-nodes with a known
  // content are not described anew.
  void Refresh();
  // Equal for selections with the same kernels, even if their views or operands differ.
  uint64_t KernelsDigest(std::span<const egraph::ENodeId> nodes) const;

  // The kernels of a selection and how often each is paid for. Where fusion saves a part of an
  // e-node's cost, that share is assumed to stay the same when prices change.
  std::vector<KernelPrices::Part> PartsOf(const extract::Charges& charges) const;

  // Requests the missing measurements of the kernels of these e-nodes, and returns how many kernels
  // were requested now for the first time.
  int Request(std::span<const egraph::ENodeId> nodes);
  // Updates the costs by what the cost model knows now.
  void Update();
  void SetBasis(CostBasis basis);

 private:
  double OperatorCost(const ENodeKernel& enode) const {
    constexpr double kOfOthers = 1.001;
    return !enode.is_left ? 0 : enode.original ? operator_us_ : kOfOthers * operator_us_;
  }
  std::vector<int> KernelsOfLayouts(const extract::Charges& charges) const;
  void AddENode(egraph::ENodeId node);
  // Computes what kernels of several e-nodes save, from the costs of single ones.
  void Combine();
  std::vector<bool> Marked(std::span<const egraph::ENodeId> nodes) const;

  const domain::TensorEGraph& tensors_;
  KernelCosts kernels_;
  ENodeOperands operands_;
  ENodeKernels contents_;
  Epilogues epilogues_;
  Attentions attentions_;
  SliceSplits splits_;
  BlockedLayouts layouts_;
  const double operator_us_;
  std::vector<double> costs_;        // By ENodeId: the kernel alone.
  std::vector<double> layout_us_;    // By ENodeId: what it costs to change layouts around it.
  std::vector<ENodeKernel> enodes_;  // By ENodeId.
  std::vector<bool> of_original_;    // By kernel: whether a node of the original has it.
  std::vector<Epilogues::Elementwise> elementwise_;
  std::vector<egraph::ENodeId> products_;  // The MatMuls; empty if attention is not one kernel.
  std::vector<egraph::ENodeId> slices_;
  std::vector<extract::Fusion> fusions_;
  std::vector<extract::SharedKernel> shared_kernels_;
};

}  // namespace quotient::pricing
