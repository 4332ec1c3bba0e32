#pragma once

// ENodeOperands: what the kernel of an e-node reads, with the memory order of each operand.

#include <vector>

#include "core/domain/tensor_egraph.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/layout.h"
#include "core/kernels/partition.h"

namespace quotient::pricing {

// One thread.
class ENodeOperands {
 public:
  // Borrows both. PlanLayouts comes before all else.
  ENodeOperands(const domain::TensorEGraph& tensors, const kernels::PartitionOptions& partition)
      : tensors_(tensors), partition_(partition) {}

  // Plans in which layout the value of each class would be stored if all e-nodes ran: plain for
  // runtimes with layouts of their own (BlockedLayouts). To be called whenever the e-graph has
  // changed.
  void PlanLayouts();
  // `cls` is canonical.
  kernels::Layout layout(egraph::ClassId cls) const { return layouts_[cls.value()]; }

  // Returns one operand per child. The operand of an input that is left out has no type.
  std::vector<kernels::Operand> Of(egraph::ENodeId node,
                                   const domain::ENodeDescription& description) const;

 private:
  kernels::LayoutRole RoleOf(egraph::ENodeId node) const;
  bool SomeWantChannelsLast() const;

  const domain::TensorEGraph& tensors_;
  const kernels::PartitionOptions& partition_;
  std::vector<kernels::Layout> layouts_;  // By ClassId.
};

// Whether all shapes are known, so that there is a kernel.
bool AllStatic(const std::vector<kernels::Operand>& operands, const model::TensorType& output);

}  // namespace quotient::pricing
