#pragma once

// Attentions: the e-nodes that can run as one attention kernel, and what that saves.

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/sequence_hash.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/fusions.h"
#include "core/pricing/attention_enodes.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/kernel_costs.h"

namespace quotient::pricing {

// Where attention is one kernel, its e-nodes together cost as much as that kernel. The kernel also
// does the work of the Transposes around it, but these are charged nevertheless: they are free only
// as part of the attention, which fusions of pairs of e-nodes cannot express. One thread.
class Attentions {
 public:
  // Borrows everything.
  Attentions(const domain::TensorEGraph& tensors, KernelCosts* costs)
      : tensors_(tensors), kernels_(*costs) {}

  // Finds the attentions that end in one of these MatMuls. To be called when the e-graph has
  // changed. `enodes` is indexed by ENodeId.
  void Find(std::span<const egraph::ENodeId> products, std::span<const ENodeKernel> enodes);

  // Adds what attention kernels save. `costs` is indexed by ENodeId.
  void AddFusions(std::span<const double> costs, std::vector<extract::Fusion>* fusions) const;

  // Adds the kernels of attentions all of whose e-nodes are chosen.
  void AddKernels(const std::vector<bool>& chosen, std::vector<int>* kernels) const;

 private:
  // E-nodes that can run as one attention kernel.
  struct Attention {
    AttentionENodes nodes;
    int kernel;
  };

  // The kernel that computes all of these e-nodes; -1 if there is none.
  int KernelOf(const AttentionENodes& nodes, std::span<const ENodeKernel> enodes);

  const domain::TensorEGraph& tensors_;
  KernelCosts& kernels_;
  std::vector<Attention> attentions_;
  // Results of KernelOf, by the kernels of the e-nodes, the position of the mask, and the scale.
  absl::flat_hash_map<SequenceHash::Value, int> known_;
};

}  // namespace quotient::pricing
