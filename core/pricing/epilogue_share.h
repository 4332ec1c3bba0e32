#pragma once

// EpilogueShare: the cost of an element-wise node that is fused behind another kernel.

#include "core/cost/cost_model.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::pricing {

// Returns by how much `epilogue` makes `main` dearer, divided by the cost of `alone`, the kernel of
// the element-wise node by itself; between 0 and 1. All costs are those of the prior. The share is
// often 0, because a fused node does not have to load the running value, only its other operands.
double EpilogueShare(const kernels::KernelSpec& main, kernels::Epilogue epilogue,
                     const kernels::KernelSpec& alone, cost::CostModel& model);

}  // namespace quotient::pricing
