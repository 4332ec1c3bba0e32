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

  // An e-node that can be an epilogue, with the hash of its content (ENodeKernels).
  struct Elementwise {
    egraph::ENodeId node;
    SequenceHash content;
  };
  // Finds the producers behind which each of these e-nodes can run. To be called when the e-graph
  // has changed. `enodes` is indexed by ENodeId.
  void Find(std::span<const Elementwise> nodes, std::span<const ENodeKernel> enodes);

  // Adds what each epilogue saves. `costs` is indexed by ENodeId.
  void AddFusions(std::span<const double> costs, std::vector<extract::Fusion>* fusions) const;

 private:
  // `node` can run as the epilogue of `producer`.
  struct Epilogue {
    egraph::ENodeId node;
    egraph::ENodeId producer;
    double share;  // The share of the node's cost that remains when fused.
  };
  enum class Fuses : uint8_t { kUnknown, kNo, kYes };

  void Add(const Elementwise& elementwise, std::span<const ENodeKernel> enodes);
  // Behind a producer with that operator, which may itself be an epilogue.
  bool CanFuse(egraph::ENodeId node, int running, absl::string_view producer) const;
  // The share of the kernel `alone` that remains behind `main`. `running` is the index of the child
  // that `main` computes.
  double ShareOf(int main, int alone, uint32_t running);

  const domain::TensorEGraph& tensors_;
  const ENodeOperands& operands_;
  KernelPrices& prices_;
  std::vector<Epilogue> epilogues_;
  // Results of CanFuse, by content and index of the running value, and by the kind of the main
  // operator.
  absl::flat_hash_map<SequenceHash::Value, std::vector<Fuses>> fuses_;
  // Shares, by the kernels of producer and node and the index of the running value.
  absl::flat_hash_map<std::tuple<int, int, uint32_t>, double> shares_;
};

}  // namespace quotient::pricing
