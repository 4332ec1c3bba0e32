#pragma once

// The rates of devices, by which kernels are priced that nobody has measured: from data sheets, and
// for GPUs without a sheet here from what their driver says. README.md explains their use.

#include <span>

#include "absl/strings/string_view.h"

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
  double direct_flops = 0;  // Per second, in contractions without tiles; 0 if all have tiles.
  double memory_bytes;      // Per second, from memory.
  double cache_bytes;       // Per second, from the last-level cache.
  double cache_size;        // Bytes in the last-level cache.
  double gap_us;            // Between the end of one kernel and the start of the next.
  double ramp_us;           // Fixed time per kernel, to fill and drain the processors.
  double fill_k;            // Steps along k that starting a tile costs.
  std::span<const Tile> tiles;
};

// The devices that can be optimized for without being measured, by the names that users give them:
// "model:h200", "model:h200-strict32".
std::span<const DeviceSheet> AllDeviceSheets();
// Null for a name that is not in the table.
const DeviceSheet* FindDeviceSheet(absl::string_view name);

// One core of a CPU.
const DeviceSheet& CpuSheet();

// What the driver says of an NVIDIA GPU.
struct GpuRates {
  absl::string_view name;      // "NVIDIA H200"
  int compute_capability = 0;  // 90 means 9.0.
  int processors = 0;          // Streaming multiprocessors.
  double clock_mhz = 0;        // The highest clock of the multiprocessors.
  double memory_mhz = 0;       // The highest clock of the memory, which transfers twice per cycle.
  double bus_bits = 0;         // Width of the memory's bus.
  double cache_size = 0;       // Bytes in L2.
};

// The sheet of a GPU whose float32 products may be rounded to TF32, or may not (`strict32`). A
// whole H200 has that of the table. For other GPUs the rates follow from what the driver says. They
// are estimated on the optimistic side, because a prior that is too high would keep a search from
// ever trying a kernel.
DeviceSheet GpuSheet(const GpuRates& gpu, bool strict32);

}  // namespace quotient::cost
