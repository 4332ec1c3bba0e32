#pragma once

// Whether a backend has decided on every operator of the table (core/ops): it has a kernel, or the
// backend's own list says why the reference evaluation computes it.

#include <functional>
#include <string>

#include "core/kernels/kernel_spec.h"
#include "core/kernels/partition.h"

namespace quotient::kernels {

// Whether the backend computes the spec otherwise than by the reference evaluation.
using HasKernel = std::function<bool(const KernelSpec& spec)>;

// Expects that each operator either has a kernel for one of its cases (tests/data/ops) or is in the
// list, and that none is both. `list` is a path from the root of the repository; the file has lines
// of the form "OPERATOR: REASON".
void ExpectEveryOperatorIsDecided(const std::string& list, const PartitionOptions& options,
                                  const HasKernel& has_kernel);

}  // namespace quotient::kernels
