#include "core/explain/peak.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::explain {
namespace {

using kernels::KernelSpec;
using kernels::Operand;

model::TensorType FloatType(std::vector<int64_t> dims) {
  return model::StaticType(model::DType::kFloat32, dims);
}

// A product of matrices with constant weights, large enough that nothing but its arithmetic counts.
constexpr int64_t kSide = 1024;

KernelSpec Product(int threads) {
  const Operand weights = {.type = FloatType({kSide, kSide}), .constant = true};
  return kernels::MakeSpec("MatMul", {}, {{FloatType({kSide, kSide})}, weights},
                           {FloatType({kSide, kSide})}, threads,
                           kernels::FootprintLog2(weights.type.bytes()));
}

// A Conv, which may have kernels of its own that are faster. The changes of layout at its ends, if
// there are any, take a hundredth of its time.
constexpr int64_t kChannels = 256, kPixels = 28;

KernelSpec Convolution(int threads) {
  const Operand weights = {.type = FloatType({kChannels, kChannels, 3, 3}), .constant = true};
  const model::TensorType image = FloatType({1, kChannels, kPixels, kPixels});
  model::AttributeMap attributes;
  attributes.Set("pads", model::Ints{1, 1, 1, 1});
  return kernels::MakeSpec("Conv", attributes, {{image}, weights}, {image}, threads,
                           kernels::FootprintLog2(weights.type.bytes()));
}
constexpr double kOperationsOfConv = 2.0 * kChannels * kChannels * 9 * kPixels * kPixels;

// An element-wise operator that reads and writes so many elements.
KernelSpec Copying(int64_t elements, int threads) {
  return kernels::MakeSpec("Relu", {}, {{FloatType({elements})}}, {FloatType({elements})}, threads,
                           0);
}

// From what the caches next to a processor hold to what none holds.
constexpr int64_t kElements[] = {1 << 14, 1 << 17, 1 << 20, 1 << 24};

// Bytes per microsecond among so many that are in use: between the sizes that were measured it is
// interpolated.
double BandwidthFor(const report::Peak& peak, double bytes) {
  const std::vector<report::Bandwidth>& known = peak.bandwidth;
  const auto after = std::ranges::find_if(
      known, [bytes](const report::Bandwidth& each) { return each.bytes >= bytes; });
  if (after == known.end()) return known.back().bytes_per_us;
  if (after == known.begin()) return after->bytes_per_us;
  const report::Bandwidth& before = *(after - 1);
  const double way = std::log(bytes / before.bytes) / std::log(after->bytes / before.bytes);
  return before.bytes_per_us * std::pow(after->bytes_per_us / before.bytes_per_us, way);
}

double MovingUs(const report::Peak& peak, double bytes, double in_use) {
  return bytes > 0 ? bytes / BandwidthFor(peak, in_use) : 0;
}

}  // namespace

std::optional<report::Peak> MeasurePeak(cost::CostModel& costs, const StopCondition& stop) {
  const int threads = costs.partition().threads;
  std::vector<KernelSpec> specs = {Product(threads), Convolution(threads), Copying(1, threads)};
  for (const int64_t elements : kElements) specs.push_back(Copying(elements, threads));
  for (const KernelSpec& spec : specs) costs.Request(spec);
  costs.Wait(stop);
  std::vector<double> us;
  for (const KernelSpec& spec : specs) {
    const cost::KernelCost cost = costs.Estimate(spec);
    if (cost.source != cost::CostSource::kMeasured || !(cost.us > 0)) return std::nullopt;
    us.push_back(cost.us);
  }
  report::Peak peak;
  peak.operations_per_us = std::max(2.0 * kSide * kSide * kSide / us[0], kOperationsOfConv / us[1]);
  peak.start_us = us[2];
  for (size_t i = 0; i < std::size(kElements); ++i) {
    const double bytes = 2.0 * sizeof(float) * static_cast<double>(kElements[i]);
    const double moving_us = std::max(us[i + 3] - peak.start_us, us[i + 3] / 2);
    peak.bandwidth.push_back({bytes, bytes / moving_us});
  }
  // What a larger kernel reaches a smaller one could, too.
  for (size_t i = peak.bandwidth.size() - 1; i-- > 0;) {
    double& own = peak.bandwidth[i].bytes_per_us;
    own = std::max(own, peak.bandwidth[i + 1].bytes_per_us);
  }
  return peak;
}

LeastTime TimeAtPeak(const report::Peak& peak, const KernelWork& work) {
  const double arithmetic_us = work.operations / peak.operations_per_us;
  const double memory_us =
      MovingUs(peak, work.activation_bytes, work.activation_bytes) +
      MovingUs(peak, work.constant_bytes, std::max(work.constant_bytes, work.footprint_bytes));
  const double least_us = std::max(arithmetic_us, memory_us);
  if (least_us < peak.start_us) return {peak.start_us, "start"};
  return {least_us, arithmetic_us >= memory_us ? "arithmetic" : "memory"};
}

}  // namespace quotient::explain
