// Resize, one axis after the other: every pass is a sum of at most two rows per output row.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

// Output position = (1 - weight) * input[first] + weight * input[second].
struct Tap {
  int64_t first = 0;
  int64_t second = 0;
  float weight = 0;
};

// Interpolates the middle axis of [outer, taps' input, inner].
struct Pass {
  int64_t outer = 1;
  int64_t in = 1;
  int64_t inner = 1;
  std::vector<Tap> taps;
  int64_t output_elements() const { return outer * static_cast<int64_t>(taps.size()) * inner; }
};

using Coordinate = double (*)(double x, double scale, double in, double out);

Coordinate FindCoordinate(absl::string_view mode) {
  if (mode == "half_pixel") {
    return [](double x, double scale, double, double) { return (x + 0.5) / scale - 0.5; };
  }
  if (mode == "pytorch_half_pixel") {
    return [](double x, double scale, double, double out) {
      return out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
    };
  }
  if (mode == "align_corners") {
    return [](double x, double, double in, double out) {
      return out > 1 ? x * (in - 1) / (out - 1) : 0.0;
    };
  }
  if (mode == "asymmetric") return [](double x, double scale, double, double) { return x / scale; };
  return nullptr;
}

using Rounding = double (*)(double x);

Rounding FindRounding(absl::string_view mode) {
  if (mode == "round_prefer_floor") return [](double x) { return std::ceil(x - 0.5); };
  if (mode == "round_prefer_ceil") return [](double x) { return std::floor(x + 0.5); };
  if (mode == "floor") return [](double x) { return std::floor(x); };
  if (mode == "ceil") return [](double x) { return std::ceil(x); };
  return nullptr;
}

std::vector<Tap> MakeTaps(int64_t in, int64_t out, double scale, Coordinate coordinate,
                          Rounding rounding) {
  std::vector<Tap> taps;
  const auto last = static_cast<double>(in - 1);
  for (int64_t i = 0; i < out; ++i) {
    const double x = coordinate(static_cast<double>(i), scale, static_cast<double>(in),
                                static_cast<double>(out));
    if (rounding != nullptr) {
      const auto index = static_cast<int64_t>(std::clamp(rounding(x), 0.0, last));
      taps.push_back({index, index, 0});
      continue;
    }
    const double inside = std::clamp(x, 0.0, last);
    const auto first = static_cast<int64_t>(inside);
    taps.push_back({first, std::min(first + 1, in - 1),
                    static_cast<float>(inside - static_cast<double>(first))});
  }
  return taps;
}

class ResizeKernel : public PlainKernel {
 public:
  ResizeKernel(const KernelSpec& spec, std::vector<Pass> passes)
      : PlainKernel(spec), passes_(std::move(passes)) {
    for (size_t i = 0; i + 1 < passes_.size(); ++i) {
      half_ = std::max(half_, passes_[i].output_elements() * static_cast<int64_t>(sizeof(float)));
    }
    scratch_bytes_ = passes_.size() > 2 ? 2 * half_ : half_;
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* from = static_cast<const float*>(Data(buffers, 0));
    for (size_t i = 0; i < passes_.size(); ++i) {
      auto* scratch = static_cast<std::byte*>(buffers.scratch) + (i % 2) * half_;
      void* to = i + 1 == passes_.size() ? buffers.outputs[0] : scratch;
      RunPass(passes_[i], from, static_cast<float*>(to));
      from = static_cast<const float*>(to);
    }
    return absl::OkStatus();
  }

 private:
  void RunPass(const Pass& pass, const float* from, float* to) const {
    const auto count = static_cast<int64_t>(pass.taps.size());
    const int64_t grain = std::max<int64_t>(1, (1 << 13) / pass.inner);
    ParallelRanges(pass.outer * count, grain, spec_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Tap& tap = pass.taps[row % count];
        const float* block = from + row / count * pass.in * pass.inner;
        const float* a = block + tap.first * pass.inner;
        float* out = to + row * pass.inner;
        if (tap.weight == 0) {
          std::memcpy(out, a, static_cast<size_t>(pass.inner) * sizeof(float));
          continue;
        }
        const float* b = block + tap.second * pass.inner;
        for (int64_t k = 0; k < pass.inner; ++k) out[k] = a[k] + tap.weight * (b[k] - a[k]);
      }
    });
  }

  const std::vector<Pass> passes_;
  int64_t half_ = 0;  // bytes of one intermediate
};

// The scale along every axis; nothing if the attributes say it in a way that is left to the
// reference.
std::optional<std::vector<double>> ScalesOf(const KernelSpec& spec) {
  const std::vector<int64_t> in = spec.inputs[0].type.dims();
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  if (spec.attributes.Has("axes")) return std::nullopt;
  if (const model::Attribute* given = spec.attributes.Find("scales")) {
    const auto* scales = std::get_if<model::Floats>(given);
    if (scales == nullptr || scales->size() != in.size()) return std::nullopt;
    return *scales;
  }
  if (spec.attributes.FindInts("sizes") == nullptr) return std::nullopt;
  std::vector<double> scales(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    scales[i] = static_cast<double>(out[i]) / static_cast<double>(in[i]);
  }
  return scales;
}

}  // namespace

std::unique_ptr<Kernel> MakeResizeKernel(const KernelSpec& spec) {
  if (spec.op != "Resize" || !StoredAsFloat(spec.inputs[0].type.dtype) ||
      spec.inputs[0].layout != spec.outputs[0].layout || spec.outputs[0].type.elements() == 0 ||
      spec.inputs[0].type.elements() == 0) {
    return nullptr;
  }
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].type.dtype != model::DType::kUndefined) return nullptr;
  }
  const model::AttributeMap& attributes = spec.attributes;
  if (attributes.GetString("keep_aspect_ratio_policy", "stretch") != "stretch") return nullptr;
  const Coordinate coordinate =
      FindCoordinate(attributes.GetString("coordinate_transformation_mode", "half_pixel"));
  const bool nearest = attributes.GetString("mode", "nearest") == "nearest";
  const Rounding rounding =
      nearest ? FindRounding(attributes.GetString("nearest_mode", "round_prefer_floor")) : nullptr;
  const auto scales = ScalesOf(spec);
  if (coordinate == nullptr || (nearest && rounding == nullptr) || !scales) return nullptr;

  std::vector<int64_t> now = spec.inputs[0].type.dims();  // dims between the passes
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  const std::vector<int> order = PhysicalAxes(static_cast<int>(now.size()), spec.inputs[0].layout);
  std::vector<Pass> passes;
  for (size_t i = 0; i < order.size(); ++i) {
    const int axis = order[i];
    if ((*scales)[axis] == 1) continue;
    Pass pass{.in = now[axis],
              .taps = MakeTaps(now[axis], out[axis], (*scales)[axis], coordinate, rounding)};
    for (size_t k = 0; k < order.size(); ++k) {
      if (k != i) (k < i ? pass.outer : pass.inner) *= now[order[k]];
    }
    now[axis] = out[axis];
    passes.push_back(std::move(pass));
  }
  if (passes.empty()) return nullptr;
  return std::make_unique<ResizeKernel>(spec, std::move(passes));
}

}  // namespace quotient::kernels::cpu
