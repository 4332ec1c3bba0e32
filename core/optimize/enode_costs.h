#pragma once

// What e-nodes cost: each e-node's kernel, as the cost model knows it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/fingerprint.h"
#include "core/cost/cost_model.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/extract.h"

namespace quotient::optimize {

// Costs of a clean e-graph as it was at the last Refresh. One thread.
//
// An element-wise e-node that runs as the epilogue of one of its children is charged kEpilogueShare
// of its stand-alone cost: fused, it costs next to nothing, and how much exactly only the
// end-to-end run can say.
class ENodeCosts final : public extract::CostFunction {
 public:
  // Borrows both. `constant_footprint_log2` and `threads` go into every kernel's spec.
  ENodeCosts(const domain::TensorEGraph& tensors, cost::CostModel& model, int threads,
             int constant_footprint_log2);

  double Cost(egraph::ENodeId node) const override { return costs_[node.value()]; }
  std::vector<extract::Fusion> Fusions() const override;

  // The e-graph changed. What is known of e-nodes of the same content is remembered.
  void Refresh();
  // Of selections with the same kernels the same, also where views or operands lie differently.
  uint64_t KernelsDigest(std::span<const egraph::ENodeId> nodes) const;

  // Asks for measurements of the kernels of these e-nodes; how many had none so far.
  int Request(std::span<const egraph::ENodeId> nodes);
  // Takes over what the model knows by now.
  void Update();
  // What e-nodes are costed by.
  enum class Basis {
    kKnown,         // measurements, and the prior where there are none
    kMeasuredOnly,  // what is neither measured nor free nor in the original must not be chosen
    kPrior,         // the prior alone
  };
  void SetBasis(Basis basis);

 private:
  // Kernels of the e-graph, each once: many e-nodes share one.
  struct Kernel {
    kernels::KernelSpec spec;
    bool requested = false;
    cost::KernelCost cost;
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
  };

  void AddENode(egraph::ENodeId node);
  Fingerprint FingerprintOf(egraph::ENodeId node) const;
  Content ContentOf(egraph::ENodeId node);
  int KernelIndex(kernels::KernelSpec spec);
  cost::KernelCost Known(const kernels::KernelSpec& spec) const;
  double CostOf(const ENode& node) const;
  // Notes whose epilogue the e-node can be.
  void AddEpilogues(egraph::ENodeId node, const Fingerprint& content);
  bool CanFuse(egraph::ENodeId node, int running, absl::string_view main_op) const;

  const domain::TensorEGraph& tensors_;
  cost::CostModel& model_;
  const int threads_;
  const int footprint_log2_;
  Basis basis_ = Basis::kKnown;
  std::vector<double> costs_;  // by ENodeId
  std::vector<ENode> enodes_;  // by ENodeId
  std::vector<Epilogue> epilogues_;
  std::vector<Kernel> kernels_;
  absl::flat_hash_map<std::string, int> kernel_by_key_;
  absl::flat_hash_map<Fingerprint::Value, Content> contents_;
  // By content, position of the running value and kind of the main operator.
  absl::flat_hash_map<Fingerprint::Value, bool> can_fuse_;
};

}  // namespace quotient::optimize
