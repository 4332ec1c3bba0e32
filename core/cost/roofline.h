#pragma once

// Roofline: how long work takes on a device of which only its data sheet is known. README.md
// derives the formula.

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "core/cost/work.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::cost {

// A size of the pieces that a matrix product is cut into, one per processor at a time, and the
// share of a processor's peak that its inner loop reaches.
struct Tile {
  double m;
  double n;
  double efficiency;
};

struct DeviceSheet {
  const char* name;
  double processors;        // streaming multiprocessors, or cores
  double product_flops;     // per second, dense, of matrix products in float32 models
  double product_flops_16;  // ... in float16 and bfloat16 models
  double vector_flops;      // per second, outside matrix products
  double memory_bytes;      // per second, from memory
  double cache_bytes;       // per second, from the last cache
  double cache_size;        // bytes
  double gap_us;            // between the end of one kernel and the start of the next
  double ramp_us;           // a kernel's own fixed time: fill and drain
  double fill_k;            // steps along k that starting a tile takes
  std::span<const Tile> tiles;
};

// One row per device: "model:h200" and "model:h200-strict32". Null if there is none.
const DeviceSheet* FindDeviceSheet(absl::string_view name);
std::span<const DeviceSheet> AllDeviceSheets();

// A data sheet, and how much of the device kernels have.
struct Roof {
  const DeviceSheet* sheet;
  double processors;
};
// What is assumed of a device that is measured, until it is: "cpu", "cuda", "cuda:1-strict32". All
// GPUs are taken for the one that has a sheet. Nothing for other names.
std::optional<Roof> RoofOf(absl::string_view device, int threads);

// Microseconds, the gap included.
double RooflineUs(const kernels::KernelSpec& spec, const Roof& roof);

}  // namespace quotient::cost
