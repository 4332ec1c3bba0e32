#include "core/cost/data_sheets.h"

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
constexpr DeviceSheet kH200 = {.name = "model:h200",
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
                               .tiles = kGpuTiles};

// The same GPU where float32 products may not be rounded to TF32, so that tensor cores do not
// compute them.
constexpr DeviceSheet Strict32(const char* name, DeviceSheet sheet, double product_flops) {
  sheet.name = name;
  sheet.product_flops = product_flops;
  sheet.fill_k = 16;
  sheet.tiles = kGpuVectorTiles;
  return sheet;
}

constexpr DeviceSheet kSheets[] = {kH200, Strict32("model:h200-strict32", kH200, 67e12)};

// One core with AVX-512, on the optimistic side: two 16-lane multiply-adds per cycle at 3.5 GHz,
// the whole memory bandwidth, activations in the second-level cache. It is optimistic because a
// prior that is too high would keep a search from ever trying a kernel.
constexpr DeviceSheet kCpu = {.name = "cpu",
                              .processors = 1,
                              .product_flops = 224e9,
                              .product_flops_16 = 224e9,
                              .vector_flops = 40e9,
                              .direct_flops = 40e9,
                              .memory_bytes = 25e9,
                              .cache_bytes = 100e9,
                              .cache_size = 16e6,
                              .gap_us = 0.05,
                              .ramp_us = 0.1,
                              .fill_k = 8,
                              .tiles = kCpuTiles};

// Operations of one multiprocessor in a cycle: `product_16` in dense matrix products of float16 on
// tensor cores, `vector` in float32 multiply-adds elsewhere.
struct GpuGeneration {
  int compute_capability;  // The first one of the generation.
  double product_16;
  double vector;
  bool has_tf32;
};
// From NVIDIA's white papers on Volta, Turing, Ampere, Hopper and Blackwell. GPUs that are newer
// than the last row are taken to be like it.
constexpr GpuGeneration kGenerations[] = {
    {0, 256, 256, false},  {70, 1024, 128, false}, {80, 2048, 128, true},  {86, 1024, 256, true},
    {90, 4096, 256, true}, {100, 8192, 256, true}, {120, 1024, 256, true},
};

const GpuGeneration& GenerationOf(int compute_capability) {
  const GpuGeneration* last = kGenerations;
  for (const GpuGeneration& generation : kGenerations) {
    if (generation.compute_capability <= compute_capability) last = &generation;
  }
  return *last;
}

bool IsWholeH200(const GpuRates& gpu) { return gpu.name == "NVIDIA H200" && gpu.processors == 132; }

}  // namespace

std::span<const DeviceSheet> AllDeviceSheets() { return kSheets; }

const DeviceSheet* FindDeviceSheet(absl::string_view name) {
  for (const DeviceSheet& sheet : kSheets) {
    if (name == sheet.name) return &sheet;
  }
  return nullptr;
}

const DeviceSheet& CpuSheet() { return kCpu; }

DeviceSheet GpuSheet(const GpuRates& gpu, bool strict32) {
  constexpr double kShareOfMemoryRate = 0.9;  // As of the H200.
  constexpr double kCacheOverMemory = 2;
  const GpuGeneration& generation = GenerationOf(gpu.compute_capability);
  const bool rounds = !strict32 && generation.has_tf32;
  DeviceSheet sheet = *FindDeviceSheet(rounds ? "model:h200" : "model:h200-strict32");
  if (IsWholeH200(gpu)) return sheet;
  // Cycles of all processors per second.
  const double cycles = gpu.processors * gpu.clock_mhz * 1e6;
  sheet.name = "gpu";
  sheet.processors = gpu.processors;
  sheet.vector_flops = cycles * generation.vector;
  sheet.product_flops_16 = cycles * generation.product_16;
  sheet.product_flops = rounds ? sheet.product_flops_16 / 2 : sheet.vector_flops;
  sheet.memory_bytes = gpu.bus_bits / 8 * 2 * gpu.memory_mhz * 1e6 * kShareOfMemoryRate;
  sheet.cache_bytes = sheet.memory_bytes * kCacheOverMemory;
  sheet.cache_size = gpu.cache_size;
  return sheet;
}

}  // namespace quotient::cost
