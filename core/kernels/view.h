#pragma once

// Kernels that only name part of their input anew: the memory plan lets the output point into the
// input's buffer, and nothing runs.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// For each output, in bytes, where it begins inside input 0 as that lies in memory. Nothing if
// the spec is no such view. In native storage views begin at multiples of 16 bytes, since libraries
// of GPUs choose their kernels by that.
std::optional<std::vector<int64_t>> FreeView(const KernelSpec& spec);

// Start and step along every axis of input 0, for each output of a Slice or a Split, as attributes
// and types give them. Nothing where they are not constant.
struct Region {
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
};
std::optional<std::vector<Region>> RegionsOf(const KernelSpec& spec);

}  // namespace quotient::kernels
