#pragma once

// SliceSplits: the Slices of an e-graph that can run together as one Split.

#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/sequence_hash.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/extract.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/enode_operands.h"
#include "core/pricing/kernel_costs.h"

namespace quotient::pricing {

// A Split and its price.
struct PricedSplit {
  domain::Split slices;   // All Slices in the e-graph that can be part of this Split.
  int kernel = -1;        // -1 if nothing runs, or if the types are not static.
  bool original = false;  // Whether all parts come from one Split of the original.
};

// Slices that can form one Split are together charged no more than the Split costs. One thread.
class SliceSplits {
 public:
  // Borrows everything.
  SliceSplits(const domain::TensorEGraph& tensors, const ENodeOperands& operands,
              const ENodeKernels& contents, KernelCosts* costs)
      : tensors_(tensors), operands_(operands), contents_(contents), kernels_(*costs) {}

  // Finds the splits among all Slices of the e-graph. To be called when the e-graph has changed.
  void Find(std::span<const egraph::ENodeId> slices);

  // The splits that may be charged as one kernel, in a fixed order, and what extraction needs to
  // know of each, in the same order.
  std::vector<const PricedSplit*> Shareable() const;
  std::vector<extract::SharedKernel> SharedKernels() const;

  // The Splits into which chosen Slices should be combined. Each comes with the split among all
  // Slices that it is a part of. `chosen` and `costs` are indexed by ENodeId. An operator costs
  // `operator_us` beside its kernel.
  std::vector<std::pair<const PricedSplit*, domain::Split>> Among(const std::vector<bool>& chosen,
                                                                  std::span<const double> costs,
                                                                  double operator_us) const;

  // Adds the kernels of all splits of which more than one part is chosen.
  void AddKernels(const std::vector<bool>& chosen, std::vector<int>* kernels) const;

 private:
  double CostOf(const PricedSplit& split) const {
    return kernels_.CostOf(split.kernel, split.original);
  }
  // The kernel of a split, which is made once for each content.
  int KernelOf(const domain::Split& slices);
  int MakeKernel(const domain::Split& slices);

  const domain::TensorEGraph& tensors_;
  const ENodeOperands& operands_;
  const ENodeKernels& contents_;
  KernelCosts& kernels_;
  std::vector<PricedSplit> splits_;
  // Results of MakeKernel, by the content of the first Slice and where the parts lie.
  absl::flat_hash_map<SequenceHash::Value, int> known_;
};

}  // namespace quotient::pricing
