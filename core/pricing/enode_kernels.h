#pragma once

// ENodeKernels: the kernel that an e-node runs as by itself, found once per content.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/sequence_hash.h"
#include "core/domain/tensor_egraph.h"
#include "core/pricing/enode_operands.h"
#include "core/pricing/kernel_costs.h"

namespace quotient::pricing {

// What an e-node of the graph runs as.
struct ENodeKernel {
  int kernel = -1;        // -1 if nothing runs, or if its cost is not known.
  bool original = false;  // Whether it is a node of the original graph.
  bool main = false;      // Whether it can have an epilogue.
  bool is_left = false;   // Whether a model still has the operator: it is not folded.
  kernels::Blocking blocking = kernels::Blocking::kNever;
};

// What follows from the content of an e-node: its word, and the types of its children and class.
struct ENodeContent {
  int kernel = -1;           // -1 if nothing runs.
  bool is_left = false;      // Whether a model still has the operator: it is not folded.
  bool is_static = true;     // If false, the cost is not known.
  bool main = false;         // Whether it can have an epilogue.
  bool elementwise = false;  // Whether it can be an epilogue.
  // How a runtime keeps its activations (PartitionOptions::runtime).
  kernels::Blocking blocking = kernels::Blocking::kNever;
};

// One thread.
class ENodeKernels {
 public:
  // Borrows everything.
  ENodeKernels(const domain::TensorEGraph& tensors, const ENodeOperands& operands,
               KernelCosts* costs)
      : tensors_(tensors), operands_(operands), costs_(*costs) {}

  // To be called when the e-graph has changed, after ENodeOperands::PlanLayouts and before the
  // others.
  void NumberValues();
  // Identifies the content: equal for e-nodes that run as the same kernel with the same operands.
  SequenceHash HashOf(egraph::ENodeId node) const;
  // `hash` is that of `node`. E-nodes with a known content are not described anew.
  ENodeContent ContentOf(egraph::ENodeId node, const SequenceHash& hash);

 private:
  uint32_t NumberOf(egraph::ClassId cls);
  ENodeContent Describe(egraph::ENodeId node);

  const domain::TensorEGraph& tensors_;
  const ENodeOperands& operands_;
  KernelCosts& costs_;
  // By ClassId: equal for values of one type and memory order that are equally constant.
  std::vector<uint32_t> value_;
  absl::flat_hash_map<SequenceHash::Value, uint32_t> numbers_;  // The numbers in value_.
  absl::flat_hash_map<SequenceHash::Value, ENodeContent> contents_;
};

}  // namespace quotient::pricing
