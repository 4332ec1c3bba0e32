// Resize, one axis after the other. Every pass sums at most four input rows per output row.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"
#include "core/ops/resize_grid.h"

namespace quotient::kernels::cpu {
namespace {

// Interpolates the middle axis of [outer, in, inner].
struct Pass {
  int64_t outer = 1;
  int64_t in = 1;
  int64_t inner = 1;
  std::vector<ops::Sample> samples;
  int64_t output_elements() const { return outer * static_cast<int64_t>(samples.size()) * inner; }
};

// Each nearest element as a sample. None is outside.
std::vector<ops::Sample> NearestSamples(const model::AttributeMap& attributes,
                                        const ops::AxisGrid& grid) {
  std::vector<ops::Sample> samples;
  for (const int64_t index : ops::NearestOf(attributes, grid)) {
    samples.push_back({.index = {index}, .weight = {1}, .taps = 1});
  }
  return samples;
}

// One pass for each axis that changes. Axes that shrink come first, so that intermediates stay
// small.
std::vector<Pass> MakePasses(const KernelSpec& spec, const std::vector<ops::AxisGrid>& grids) {
  std::vector<int64_t> now = spec.inputs[0].type.dims();  // Dimensions between the passes.
  const std::vector<int> order = PhysicalAxes(static_cast<int>(now.size()), spec.inputs[0].layout);
  std::vector<size_t> places(order.size());  // Positions in `order`.
  std::iota(places.begin(), places.end(), size_t{0});
  const auto growth = [&](size_t place) {
    const ops::AxisGrid& grid = grids[order[place]];
    return static_cast<double>(grid.out) / static_cast<double>(grid.in);
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return growth(a) < growth(b); });
  const bool nearest = spec.attributes.GetString("mode", "nearest") == "nearest";
  std::vector<Pass> passes;
  for (const size_t place : places) {
    const int axis = order[place];
    Pass pass{.in = now[axis],
              .samples = nearest ? NearestSamples(spec.attributes, grids[axis])
                                 : ops::SamplesOf(spec.attributes, grids[axis])};
    if (ops::IsIdentity(pass.samples, pass.in)) continue;
    for (size_t k = 0; k < order.size(); ++k) {
      if (k != place) (k < place ? pass.outer : pass.inner) *= now[order[k]];
    }
    now[axis] = grids[axis].out;
    passes.push_back(std::move(pass));
  }
  return passes;
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
    const auto count = static_cast<int64_t>(pass.samples.size());
    const int64_t grain = std::max<int64_t>(1, (1 << 13) / pass.inner);
    ParallelRanges(pass.outer * count, grain, spec_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* block = from + row / count * pass.in * pass.inner;
        Interpolate(pass.samples[row % count], block, pass.inner, to + row * pass.inner);
      }
    });
  }

  // Writes the sum of rows of `block`, which have so many elements.
  static void Interpolate(const ops::Sample& sample, const float* block, int64_t elements,
                          float* out) {
    const auto row = [&](int tap) { return block + sample.index[tap] * elements; };
    const auto weight = [&](int tap) { return static_cast<float>(sample.weight[tap]); };
    const float *a = row(0), *b = row(1);
    if (sample.taps <= 2 && weight(0) == 1) {
      std::memcpy(out, a, static_cast<size_t>(elements) * sizeof(float));
    } else if (sample.taps == 2) {
      const float w = weight(1);
      for (int64_t k = 0; k < elements; ++k) out[k] = a[k] + w * (b[k] - a[k]);
    } else {
      const float *c = row(2), *d = row(3);
      const float v = weight(0), w = weight(1), x = weight(2), y = weight(3);
      for (int64_t k = 0; k < elements; ++k) {
        out[k] = v * a[k] + w * b[k] + x * c[k] + y * d[k];
      }
    }
  }

  const std::vector<Pass> passes_;
  int64_t half_ = 0;  // Bytes of one intermediate.
};

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
  // This transformation gives samples outside the input a value of their own.
  if (ops::ResizeTransformation(spec.attributes) == "tf_crop_and_resize") return nullptr;
  const auto grids = ops::GridsOf(spec.attributes, spec.inputs[0].type.dims());
  if (!grids.ok() || !grids->has_value()) return nullptr;
  std::vector<Pass> passes = MakePasses(spec, **grids);
  if (passes.empty()) return nullptr;
  return std::make_unique<ResizeKernel>(spec, std::move(passes));
}

}  // namespace quotient::kernels::cpu
