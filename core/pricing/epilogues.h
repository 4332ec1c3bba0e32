#pragma once

// Epilogues: the element-wise e-nodes that can run as the end of another kernel.

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/sequence_hash.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/fusions.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/enode_operands.h"
#include "core/pricing/kernel_prices.h"

namespace quotient::pricing {

// An element-wise e-node that runs as the epilogue of one of its children is charged a share of its
// stand-alone cost (epilogue_share.h). Fused, it costs next to nothing, and only an end-to-end run
// can tell how much exactly. One thread.
class Epilogues {
 public:
  // Borrows everything.
  Epilogues(const domain::TensorEGraph& tensors, const ENodeOperands& operands,
            KernelPrices* prices)
      : tensors_(tensors), operands_(operands), prices_(*prices) {}

  // To be called when the e-graph has changed: Clear, Add for each element-wise e-node, Finish.

  void Clear() { epilogues_.clear(); }
  // Records the producers behind which the e-node can run as an epilogue. `content` is its
  // hash (ENodeKernels).
  void Add(egraph::ENodeId node, const SequenceHash& content);
  // Removes epilogues whose producer cannot have one or where either e-node has no kernel, and
  // computes the share of the others. `enodes` is indexed by ENodeId.
  void Finish(std::span<const ENodeKernel> enodes);

  // Adds what each epilogue saves. `costs` is indexed by ENodeId.
  void AddFusions(std::span<const double> costs, std::vector<extract::Fusion>* fusions) const;

 private:
  // `node` can run as the epilogue of `producer`.
  struct Epilogue {
    egraph::ENodeId node;
    egraph::ENodeId producer;
    uint32_t running;  // Index of the child of `node` that `producer` computes.
    double share = 0;  // The share of the node's cost that remains when fused.
  };

  bool CanFuse(egraph::ENodeId node, int running, absl::string_view main_op) const;
  double ShareOf(const Epilogue& epilogue, std::span<const ENodeKernel> enodes);

  const domain::TensorEGraph& tensors_;
  const ENodeOperands& operands_;
  KernelPrices& prices_;
  std::vector<Epilogue> epilogues_;
  // Results of CanFuse, by content, index of the running value and kind of the main operator.
  absl::flat_hash_map<SequenceHash::Value, bool> can_fuse_;
  // Shares, by the kernels of producer and node and the index of the running value.
  absl::flat_hash_map<std::tuple<int, int, uint32_t>, double> shares_;
};

}  // namespace quotient::pricing
