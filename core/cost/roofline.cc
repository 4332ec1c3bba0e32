#include "core/cost/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"

namespace quotient::cost {
namespace {

// Larger tiles use each loaded element more often. The efficiencies are our estimates, anchored at
// one figure: large bf16 products reach 0.8 of the dense peak on this family of GPUs.
constexpr Tile kGpuTiles[] = {
    {256, 128, 0.80}, {128, 128, 0.72}, {128, 64, 0.60}, {64, 64, 0.50}, {32, 32, 0.25},
};
// Without tensor cores the inner loop is limited by fused multiply-adds, which smaller tiles keep
// busy almost as well.
constexpr Tile kGpuVectorTiles[] = {
    {128, 128, 0.85},
    {128, 64, 0.80},
    {64, 64, 0.70},
    {32, 32, 0.50},
};
constexpr Tile kCpuTiles[] = {{32, 64, 0.85}, {6, 16, 0.6}, {1, 16, 0.3}};

// H200 SXM. From NVIDIA's data sheet: 67 TFLOP/s float32; tensor cores 989 (TF32) and 1979 (FP16,
// BF16) TFLOP/s with sparsity, half of that dense; 4.8 TB/s. From the Hopper white paper: 132
// multiprocessors, 50 MB of L2. On no sheet and therefore assumed: copying reaches 0.9 of the
// memory's rate (4.3 TB/s), L2 gives twice that, kernels in a CUDA graph start 1 us apart and
// need 1.5 us to fill and drain.
constexpr DeviceSheet kSheets[] = {
    {.name = "model:h200",
     .processors = 132,
     .product_flops = 494.5e12,
     .product_flops_16 = 989.5e12,
     .vector_flops = 60e12,
     .memory_bytes = 4.3e12,
     .cache_bytes = 8.6e12,
     .cache_size = 50e6,
     .gap_us = 1.0,
     .ramp_us = 1.5,
     .fill_k = 64,
     .tiles = kGpuTiles},
    {.name = "model:h200-strict32",
     .processors = 132,
     .product_flops = 67e12,
     .product_flops_16 = 989.5e12,
     .vector_flops = 60e12,
     .memory_bytes = 4.3e12,
     .cache_bytes = 8.6e12,
     .cache_size = 50e6,
     .gap_us = 1.0,
     .ramp_us = 1.5,
     .fill_k = 16,
     .tiles = kGpuVectorTiles},
};

// One core with AVX-512, on the optimistic side: two 16-lane multiply-adds per cycle at 3.5 GHz,
// the whole memory bandwidth, activations in the second-level cache. It is optimistic because a
// prior that is too high would keep a search from ever trying a kernel.
constexpr DeviceSheet kCpu = {.name = "cpu",
                              .processors = 1,
                              .product_flops = 224e9,
                              .product_flops_16 = 224e9,
                              .vector_flops = 40e9,
                              .memory_bytes = 25e9,
                              .cache_bytes = 100e9,
                              .cache_size = 16e6,
                              .gap_us = 0.05,
                              .ramp_us = 0.1,
                              .fill_k = 8,
                              .tiles = kCpuTiles};

// The time with the best choice of tile and of cuts along k: the number of rounds in which all
// processors work, times the time of one tile.
double ProductUs(const Work& work, const DeviceSheet& sheet, double processors) {
  const double peak = work.element_bytes == 2 ? sheet.product_flops_16 : sheet.product_flops;
  const double peak_of_one = peak / sheet.processors * 1e-6;  // Per microsecond.
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : sheet.tiles) {
    // Long products over few tiles are cut along k, too. The partial results then have to be added
    // up.
    for (const double parts : {1.0, 2.0, 4.0, 8.0}) {
      const double k = std::ceil(work.k / parts);
      const double tiles =
          work.batch * std::ceil(work.m / tile.m) * std::ceil(work.n / tile.n) * parts;
      const double rounds = std::ceil(tiles / processors);
      const double tile_us =
          2 * tile.m * tile.n * (k + sheet.fill_k) / (peak_of_one * tile.efficiency);
      const double joined_bytes = parts > 1 ? parts * work.batch * work.m * work.n * 8 : 0;
      best = std::min(best, rounds * tile_us + joined_bytes / sheet.cache_bytes * 1e6);
    }
  }
  return best;
}

double MemoryUs(const Work& work, const kernels::KernelSpec& spec, const DeviceSheet& sheet,
                double share) {
  // Weights stay in the cache between runs only if those of the whole model fit.
  const double model_bytes = std::ldexp(1.0, spec.constant_footprint_log2);
  const double weights =
      model_bytes * 2 < sheet.cache_size ? sheet.cache_bytes : sheet.memory_bytes;
  const double activations =
      work.activation_bytes * 2 < sheet.cache_size ? sheet.cache_bytes : sheet.memory_bytes;
  return (work.constant_bytes / weights + work.activation_bytes / activations) / share * 1e6;
}

}  // namespace

const DeviceSheet* FindDeviceSheet(absl::string_view name) {
  for (const DeviceSheet& sheet : kSheets) {
    if (name == sheet.name) return &sheet;
  }
  return nullptr;
}

std::span<const DeviceSheet> AllDeviceSheets() { return kSheets; }

std::optional<Roof> RoofOf(absl::string_view device, int threads) {
  if (device == "cpu") return Roof{&kCpu, static_cast<double>(threads)};
  if (!absl::StartsWith(device, "cuda")) return std::nullopt;
  const DeviceSheet* const sheet =
      FindDeviceSheet(absl::EndsWith(device, "-strict32") ? "model:h200-strict32" : "model:h200");
  return Roof{sheet, sheet->processors};
}

double RooflineUs(const kernels::KernelSpec& spec, const Roof& roof) {
  const DeviceSheet& sheet = *roof.sheet;
  if (spec.free) return 0;
  const Work work = WorkOf(spec);
  const double share = roof.processors / sheet.processors;
  const double arithmetic = work.operations / (sheet.vector_flops * share) * 1e6;
  const double compute =
      work.k > 0 ? ProductUs(work, sheet, roof.processors) + arithmetic : arithmetic;
  return sheet.gap_us + sheet.ramp_us + std::max(compute, MemoryUs(work, spec, sheet, share));
}

}  // namespace quotient::cost
