#pragma once

// BlockedLayouts: the changes of layout that a runtime makes around an e-node which it cannot run
// in its blocked layout, but whose neighbours it does (kernels/runtime_fusions.h).

#include <span>
#include <vector>

#include "core/domain/tensor_egraph.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/kernel_costs.h"

namespace quotient::pricing {

// The value of a class is taken to be blocked if some e-node of the class computes it so. An e-node
// that reads it plain pays for that, and so does one that computes plain what others read blocked.
// Which of several e-nodes of a class is chosen does not count, so that each has a cost of its own.
// Nobody pays for the inputs and outputs of the graph, which are plain: all forms of a graph have
// the same. One thread.
class BlockedLayouts {
 public:
  // Borrows both. Without a runtime in the partition options of `costs` there are no costs.
  BlockedLayouts(const domain::TensorEGraph& tensors, KernelCosts* costs)
      : tensors_(tensors), kernels_(*costs) {}

  // To be called when the e-graph has changed. `enodes` is indexed by ENodeId.
  void Find(std::span<const ENodeKernel> enodes);

  // What changes of layout cost, by ENodeId, by the prices of now.
  std::vector<double> Costs() const;
  // Adds their kernels for these e-nodes.
  void AddKernels(std::span<const egraph::ENodeId> nodes, std::vector<int>* kernels) const;

 private:
  struct Change {
    egraph::ENodeId node;
    int kernel;
  };

  bool IsImage(egraph::ClassId cls) const;
  // Whether the e-node computes a blocked value, given what is known of its operands.
  bool Blocks(egraph::ENodeId node, kernels::Blocking blocking) const;
  void FindBlocked(std::span<const ENodeKernel> enodes);
  void FindWanted(std::span<const ENodeKernel> enodes);
  void AddChanges(egraph::ENodeId node, kernels::Blocking blocking);
  void AddChange(egraph::ENodeId node, egraph::ClassId value, kernels::Layout from,
                 kernels::Layout to);

  const domain::TensorEGraph& tensors_;
  KernelCosts& kernels_;
  std::vector<bool> blocked_;    // By ClassId: some e-node computes it blocked.
  std::vector<bool> wanted_;     // By ClassId: some e-node reads it blocked.
  std::vector<Change> changes_;  // Sorted by node.
  size_t num_enodes_ = 0;
};

}  // namespace quotient::pricing
