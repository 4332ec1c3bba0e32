#pragma once

// What an element-wise node costs as the epilogue of another kernel.

#include "core/cost/cost_model.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::pricing {

// As a share of what its own kernel, `alone`, costs: what the prior says that it adds to `main`,
// behind which it runs. Within 0 and 1. Often 0: the values are at hand, and only what else it
// reads has to be loaded.
double EpilogueShare(const kernels::KernelSpec& main, kernels::Epilogue epilogue,
                     const kernels::KernelSpec& alone, cost::CostModel& model);

}  // namespace quotient::pricing
