#include "core/cost/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cost/work.h"

namespace quotient::cost {
namespace {

// The time of a contraction whose vectors hold neighbouring channels or pixels instead of a tile,
// as libraries run a depthwise Conv.
double DirectUs(const Work& work, const DeviceSheet& sheet, double processors) {
  if (sheet.direct_flops == 0) return std::numeric_limits<double>::infinity();
  return 2 * work.batch * work.m * work.n * work.k /
         (sheet.direct_flops / sheet.processors * processors) * 1e6;
}

// The time with the best choice of tile and of cuts along k: the number of rounds in which all
// processors work, times the time of one tile.
double ProductUs(const Work& work, const DeviceSheet& sheet, double processors) {
  const double peak = work.element_bytes == 2 ? sheet.product_flops_16 : sheet.product_flops;
  const double peak_of_one = peak / sheet.processors * 1e-6;  // Per microsecond.
  double best = DirectUs(work, sheet, processors);
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

double RooflineUs(const kernels::KernelSpec& spec, const Roof& roof) {
  const DeviceSheet& sheet = roof.sheet;
  if (spec.free) return 0;
  const Work work = WorkOf(spec);
  const double share = roof.processors / sheet.processors;
  const double arithmetic = work.operations / (sheet.vector_flops * share) * 1e6;
  const double compute =
      work.k > 0 ? ProductUs(work, sheet, roof.processors) + arithmetic : arithmetic;
  return sheet.gap_us + sheet.ramp_us + std::max(compute, MemoryUs(work, spec, sheet, share));
}

}  // namespace quotient::cost
