#pragma once

// Kernels that only reinterpret part of their input: the memory plan makes the output point into
// the input's buffer, and nothing runs.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels {

// For each output, its byte offset inside input 0 as stored in memory. Returns nullopt if the spec
// is no such view. In native storage views begin at multiples of 16 bytes, because GPU libraries
// choose their kernels by alignment.
std::optional<std::vector<int64_t>> FreeView(const KernelSpec& spec);

// For each output of a Slice or Split, start and step along every axis of input 0, from attributes
// and types. Returns nullopt if these are not constant.
struct Region {
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
};
std::optional<std::vector<Region>> RegionsOf(const KernelSpec& spec);

}  // namespace quotient::kernels
