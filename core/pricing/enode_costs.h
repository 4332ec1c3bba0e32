#pragma once

// What e-nodes cost: each e-node's kernel, as the cost model knows it.

#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/fingerprint.h"
#include "core/cost/cost_model.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/extract.h"
#include "core/extract/fusions.h"
#include "core/kernels/partition.h"
#include "core/pricing/attention_enodes.h"
#include "core/pricing/kernel_prices.h"

namespace quotient::pricing {

// Costs of a clean e-graph as it was at the last Refresh. One thread.
//
// An element-wise e-node that runs as the epilogue of one of its children is charged a share of
// its stand-alone cost (epilogue_share.h): fused, it costs next to nothing, and how much exactly
// only the end-to-end run can say. Slices that can be one Split are charged no more than that
// costs. Where attention is one kernel, its e-nodes together cost what that does. The Transposes
// around it, which it does too, are charged all the same: that they are free there, and only there,
// is nothing that pairs of e-nodes can say.
class ENodeCosts final : public extract::CostFunction {
 public:
  // Borrows both. `constant_footprint_log2` goes into every kernel's spec, as does how the prices'
  // model cuts graphs into kernels.
  ENodeCosts(const domain::TensorEGraph& tensors, KernelPrices* prices,
             int constant_footprint_log2);

  double Cost(egraph::ENodeId node) const override { return costs_[node.value()]; }
  std::vector<extract::Fusion> Fusions() const override;
  std::vector<extract::SharedKernel> SharedKernels() const override;
  // Which of these e-nodes are to leave as Splits.
  std::vector<domain::Split> SplitsAmong(std::span<const egraph::ENodeId> nodes) const;

  // The e-graph changed, or prices did. What is known of e-nodes of the same content is remembered.
  void Refresh();
  // Of selections with the same kernels the same, also where views or operands lie differently.
  uint64_t KernelsDigest(std::span<const egraph::ENodeId> nodes) const;

  // What a selection is made of, kernel by kernel. What is saved is taken to stay the same share of
  // the e-node's cost.
  std::vector<KernelPrices::Part> PartsOf(const extract::Charges& charges) const;

  // Asks for measurements of the kernels of these e-nodes; how many had none so far.
  int Request(std::span<const egraph::ENodeId> nodes);
  // Takes over what the model knows by now.
  void Update();
  // What e-nodes are costed by. Whatever it is, one whose kernel is unsupported must not be chosen.
  enum class Basis {
    kKnown,         // measurements, and the prior where there are none
    kMeasuredOnly,  // what is neither measured nor free nor in the original must not be chosen
    kPrior,         // the prior alone
  };
  void SetBasis(Basis basis);

 private:
  struct Split {
    domain::Split slices;  // all that there are in the e-graph
    int kernel = -1;       // -1: nothing runs, or nobody knows
    bool original = false;
  };
  // What the content of an e-node says: its word, and the types of children and class.
  struct Content {
    int kernel = -1;           // -1: nothing runs
    bool is_static = true;     // else it has no cost
    bool main = false;         // may have an epilogue
    bool elementwise = false;  // may be one
  };
  struct ENode {
    int kernel = -1;
    bool original = false;  // a node of the original graph
    bool main = false;
  };
  struct Epilogue {
    egraph::ENodeId node;
    egraph::ENodeId producer;
    uint32_t running;  // which child of the node that is
    double share = 0;  // of the node's cost that remains
  };

  // E-nodes that can be one kernel.
  struct Attention {
    AttentionENodes nodes;
    int kernel;
  };

  void AddENode(egraph::ENodeId node);
  void AddAttentions();
  // The kernel that they are together; -1: none.
  int AttentionKernel(const AttentionENodes& nodes);
  int KernelOf(egraph::ENodeId node) const {
    return node.valid() ? enodes_[node.value()].kernel : -1;
  }
  void AddAttentionFusions(std::vector<extract::Fusion>* fusions) const;
  void AddSplits();
  // As SplitsAmong, each with what it is a part of.
  std::vector<std::pair<const Split*, domain::Split>> SplitsWithin(
      const std::vector<bool>& chosen) const;
  // Its parts among the chosen e-nodes, which are told apart by ENodeId.
  static std::vector<domain::Split::Part> ChosenParts(const Split& split,
                                                      const std::vector<bool>& chosen);
  std::vector<bool> Marked(std::span<const egraph::ENodeId> nodes) const;
  // In which layouts values of classes would lie if all e-nodes ran.
  void PlanLayouts();
  std::vector<kernels::Operand> Operands(egraph::ENodeId node,
                                         const domain::ENodeDescription& description) const;
  Fingerprint FingerprintOf(egraph::ENodeId node) const;
  Content ContentOf(egraph::ENodeId node);
  int KernelIndex(kernels::KernelSpec spec);
  // The splits that are offered as shared kernels, in their order.
  std::vector<const Split*> Shareable() const;
  cost::KernelCost Known(int kernel) const;
  void ReadPrices();
  double CostOf(int kernel, bool original) const;
  // Notes whose epilogue the e-node can be.
  void AddEpilogues(egraph::ENodeId node, const Fingerprint& content);
  // Keeps those that save something, and says how much.
  void ShareEpilogues();
  double ShareOf(const Epilogue& epilogue);
  bool CanFuse(egraph::ENodeId node, int running, absl::string_view main_op) const;

  const domain::TensorEGraph& tensors_;
  KernelPrices& prices_;
  const kernels::PartitionOptions& partition_;
  const int footprint_log2_;
  Basis basis_ = Basis::kKnown;
  std::vector<kernels::Layout> layouts_;  // by ClassId
  std::vector<double> costs_;             // by ENodeId
  std::vector<ENode> enodes_;             // by ENodeId
  std::vector<Epilogue> epilogues_;
  std::vector<Attention> attentions_;
  std::vector<egraph::ENodeId> products_;  // MatMuls, where attention is one kernel
  std::vector<egraph::ENodeId> slices_;
  std::vector<Split> splits_;
  std::vector<cost::KernelCost> kernels_;  // by number, those that occur here
  int64_t version_ = 0;                    // of the prices that they have
  absl::flat_hash_map<Fingerprint::Value, Content> contents_;
  // By the kernels of producer and node and the position of the running value.
  absl::flat_hash_map<std::tuple<int, int, uint32_t>, double> shares_;
  // By the kernels of its e-nodes, the mask's position and the scale.
  absl::flat_hash_map<Fingerprint::Value, int> attention_kernels_;
  // By content, position of the running value and kind of the main operator.
  absl::flat_hash_map<Fingerprint::Value, bool> can_fuse_;
};

}  // namespace quotient::pricing
