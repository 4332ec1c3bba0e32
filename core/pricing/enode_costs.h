#pragma once

// ENodeCosts: the cost of each e-node, which is that of its kernel according to the cost model.

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

// The costs of a clean e-graph as it was at the last Refresh. One thread.
//
// An element-wise e-node that runs as the epilogue of one of its children is charged a share of its
// stand-alone cost (epilogue_share.h). Fused, it costs next to nothing, and only an end-to-end run
// can tell how much exactly. Slices that can form one Split are together charged no more than the
// Split costs. Where attention is one kernel, its e-nodes together cost as much as that kernel. The
// kernel also does the work of the Transposes around it, but these are charged nevertheless: they
// are free only as part of the attention, which fusions of pairs of e-nodes cannot express.
class ENodeCosts final : public extract::CostFunction {
 public:
  // Borrows `tensors` and `prices`. `constant_footprint_log2` and the partition options of the
  // prices' cost model become part of every kernel's spec.
  ENodeCosts(const domain::TensorEGraph& tensors, KernelPrices* prices,
             int constant_footprint_log2);

  double Cost(egraph::ENodeId node) const override { return costs_[node.value()]; }
  std::vector<extract::Fusion> Fusions() const override;
  std::vector<extract::SharedKernel> SharedKernels() const override;
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
  // What the costs of e-nodes are based on. E-nodes that are not in the original and whose kernel
  // is unsupported are always infinitely expensive.
  enum class Basis {
    kKnown,         // Measurements, and the prior for kernels without one.
    kMeasuredOnly,  // As kKnown, but what is not measured, free or in the original costs infinity.
    kPrior,         // The prior alone.
  };
  void SetBasis(Basis basis);

 private:
  struct Split {
    domain::Split slices;   // All Slices in the e-graph that can be part of this Split.
    int kernel = -1;        // -1 if nothing runs, or if the types are not static.
    bool original = false;  // Whether all parts come from one Split of the original.
  };
  // What follows from the content of an e-node: its word, and the types of its children and class.
  struct Content {
    int kernel = -1;           // -1 if nothing runs.
    bool is_static = true;     // If false, the cost is not known.
    bool main = false;         // Whether it can have an epilogue.
    bool elementwise = false;  // Whether it can be an epilogue.
  };
  struct ENode {
    int kernel = -1;
    bool original = false;  // Whether it is a node of the original graph.
    bool main = false;
  };
  // `node` can run as the epilogue of `producer`.
  struct Epilogue {
    egraph::ENodeId node;
    egraph::ENodeId producer;
    uint32_t running;  // Index of the child of `node` that `producer` computes.
    double share = 0;  // The share of the node's cost that remains when fused.
  };

  // E-nodes that can run as one attention kernel.
  struct Attention {
    AttentionENodes nodes;
    int kernel;
  };

  void AddENode(egraph::ENodeId node);
  void AddAttentions();
  // The kernel that computes all of these e-nodes; -1 if there is none.
  int AttentionKernel(const AttentionENodes& nodes);
  int KernelOf(egraph::ENodeId node) const {
    return node.valid() ? enodes_[node.value()].kernel : -1;
  }
  void AddAttentionFusions(std::vector<extract::Fusion>* fusions) const;
  void AddSplits();
  // As SplitsAmong, each with the entry of splits_ that it is a part of.
  std::vector<std::pair<const Split*, domain::Split>> SplitsWithin(
      const std::vector<bool>& chosen) const;
  // The parts of the split that are chosen. `chosen` is indexed by ENodeId.
  static std::vector<domain::Split::Part> ChosenParts(const Split& split,
                                                      const std::vector<bool>& chosen);
  std::vector<bool> Marked(std::span<const egraph::ENodeId> nodes) const;
  // Plans in which layout the value of each class would be stored if all e-nodes ran.
  void PlanLayouts();
  std::vector<kernels::Operand> Operands(egraph::ENodeId node,
                                         const domain::ENodeDescription& description) const;
  Fingerprint FingerprintOf(egraph::ENodeId node) const;
  Content ContentOf(egraph::ENodeId node);
  int KernelIndex(kernels::KernelSpec spec);
  // The splits that SharedKernels offers, in the same order.
  std::vector<const Split*> Shareable() const;
  cost::KernelCost Known(int kernel) const;
  void ReadPrices();
  double CostOf(int kernel, bool original) const;
  // Records the producers behind which the e-node can run as an epilogue.
  void AddEpilogues(egraph::ENodeId node, const Fingerprint& content);
  // Removes epilogues whose producer cannot have one or where either e-node has no kernel, and
  // computes the share of the others.
  void ShareEpilogues();
  double ShareOf(const Epilogue& epilogue);
  bool CanFuse(egraph::ENodeId node, int running, absl::string_view main_op) const;

  const domain::TensorEGraph& tensors_;
  KernelPrices& prices_;
  const kernels::PartitionOptions& partition_;
  const int footprint_log2_;
  Basis basis_ = Basis::kKnown;
  std::vector<kernels::Layout> layouts_;  // By ClassId.
  std::vector<double> costs_;             // By ENodeId.
  std::vector<ENode> enodes_;             // By ENodeId.
  std::vector<Epilogue> epilogues_;
  std::vector<Attention> attentions_;
  std::vector<egraph::ENodeId> products_;  // The MatMuls; empty if attention is not one kernel.
  std::vector<egraph::ENodeId> slices_;
  std::vector<Split> splits_;
  std::vector<cost::KernelCost> kernels_;  // By number of the kernel; those that occur here.
  int64_t version_ = 0;                    // Version of the prices in kernels_.
  absl::flat_hash_map<Fingerprint::Value, Content> contents_;
  // Shares of epilogues, by the kernels of producer and node and the index of the running value.
  absl::flat_hash_map<std::tuple<int, int, uint32_t>, double> shares_;
  // By the kernels of the e-nodes of the attention, the position of the mask, and the scale.
  absl::flat_hash_map<Fingerprint::Value, int> attention_kernels_;
  // Results of CanFuse, by content, index of the running value and kind of the main operator.
  absl::flat_hash_map<Fingerprint::Value, bool> can_fuse_;
};

}  // namespace quotient::pricing
