#pragma once

// Roofline: an estimate of how long a kernel takes on a device of which only the data sheet is
// known. README.md derives the formula.

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "core/cost/work.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::cost {

// A size of the tiles that a matrix product is cut into, each computed by one processor, and the
// share of the processor's peak that its inner loop reaches.
struct Tile {
  double m;
  double n;
  double efficiency;
};

struct DeviceSheet {
  const char* name;
  double processors;        // Streaming multiprocessors, or cores.
  double product_flops;     // Per second, in dense matrix products of float32 models.
  double product_flops_16;  // The same in float16 and bfloat16 models.
  double vector_flops;      // Per second, outside matrix products.
  double memory_bytes;      // Per second, from memory.
  double cache_bytes;       // Per second, from the last-level cache.
  double cache_size;        // Bytes in the last-level cache.
  double gap_us;            // Between the end of one kernel and the start of the next.
  double ramp_us;           // Fixed time per kernel, to fill and drain the processors.
  double fill_k;            // Steps along k that starting a tile costs.
  std::span<const Tile> tiles;
};

// Looks up "model:h200" or "model:h200-strict32" in the table of devices. Null for other names.
const DeviceSheet* FindDeviceSheet(absl::string_view name);
std::span<const DeviceSheet> AllDeviceSheets();

// A data sheet, and the number of processors that kernels may use.
struct Roof {
  const DeviceSheet* sheet;
  double processors;
};
// The assumptions about a device until it has been measured: "cpu", "cuda", "cuda:1-strict32".
// Every GPU is taken for an H200, the only one with a data sheet here. Nothing for other names.
std::optional<Roof> RoofOf(absl::string_view device, int threads);

// The estimated time in microseconds, launch gap included.
double RooflineUs(const kernels::KernelSpec& spec, const Roof& roof);

}  // namespace quotient::cost
