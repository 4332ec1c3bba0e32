// Operations of the emulated libraries that slide a window over an image.

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/support/cuda/host_operations.h"

namespace quotient::kernels::cuda::host {
namespace {

// Calls visit(output position, window position, input position) for a window that slides over the
// spatial axes.
void Slide(const DnnNode& node, const std::vector<int64_t>& image,
           const std::vector<int64_t>& window, const std::vector<int64_t>& positions,
           const std::function<void(std::span<const int64_t>, std::span<const int64_t>,
                                    std::span<const int64_t>)>& visit) {
  std::vector<int64_t> seen(image.size());
  ForEach(positions, [&](std::span<const int64_t> at) {
    ForEach(window, [&](std::span<const int64_t> tap) {
      for (size_t i = 0; i < seen.size(); ++i) {
        seen[i] = at[i] * node.strides[i] + tap[i] * node.dilations[i] - node.pads_begin[i];
        if (seen[i] < 0 || seen[i] >= image[i]) return;
      }
      visit(at, tap, seen);
    });
  });
}

std::vector<int64_t> Spatial(const std::vector<int64_t>& dims) {
  return {dims.begin() + 2, dims.end()};
}

std::vector<int64_t> Index(int64_t a, int64_t b, std::span<const int64_t> rest) {
  std::vector<int64_t> index{a, b};
  index.insert(index.end(), rest.begin(), rest.end());
  return index;
}

}  // namespace

void Convolve(const DnnNode& node, Inputs inputs, Factor factor, Values& y) {
  const Values& x = *inputs[0];
  const Values& w = *inputs[1];
  const int64_t groups = x.dims[1] / w.dims[1];
  const int64_t outputs = w.dims[0] / groups;
  Slide(node, Spatial(x.dims), Spatial(w.dims), Spatial(y.dims), [&](auto at, auto tap, auto seen) {
    for (int64_t n = 0; n < y.dims[0]; ++n) {
      for (int64_t k = 0; k < y.dims[1]; ++k) {
        for (int64_t c = 0; c < w.dims[1]; ++c) {
          y.at(Index(n, k, at)) += factor(x.at(Index(n, k / outputs * w.dims[1] + c, seen))) *
                                   factor(w.at(Index(k, c, tap)));
        }
      }
    }
  });
}

// Computes the adjoint of a convolution, dx from dy and w.
void ConvolveTransposed(const DnnNode& node, Inputs inputs, Factor factor, Values& dx) {
  const Values& dy = *inputs[0];
  const Values& w = *inputs[1];
  const int64_t groups = dx.dims[1] / w.dims[1];
  const int64_t outputs = w.dims[0] / groups;
  Slide(node, Spatial(dx.dims), Spatial(w.dims), Spatial(dy.dims),
        [&](auto at, auto tap, auto seen) {
          for (int64_t n = 0; n < dy.dims[0]; ++n) {
            for (int64_t k = 0; k < dy.dims[1]; ++k) {
              for (int64_t c = 0; c < w.dims[1]; ++c) {
                dx.at(Index(n, k / outputs * w.dims[1] + c, seen)) +=
                    factor(dy.at(Index(n, k, at))) * factor(w.at(Index(k, c, tap)));
              }
            }
          }
        });
}

void Pool(const DnnNode& node, Inputs inputs, Values& y) {
  const Values& x = *inputs[0];
  DnnNode dense = node;
  dense.dilations.assign(node.window.size(), 1);
  const bool is_max = node.mode == DnnMode::kMaxPool;
  std::fill(y.data.begin(), y.data.end(), is_max ? -std::numeric_limits<double>::infinity() : 0.0);
  std::vector<double> seen_by(y.data.size(), 0);
  Slide(dense, Spatial(x.dims), node.window, Spatial(y.dims), [&](auto at, auto, auto seen) {
    for (int64_t n = 0; n < y.dims[0]; ++n) {
      for (int64_t c = 0; c < y.dims[1]; ++c) {
        double& out = y.at(Index(n, c, at));
        const double in = x.at(Index(n, c, seen));
        out = is_max ? std::max(out, in) : out + in;
        ++seen_by[static_cast<size_t>(y.Offset(Index(n, c, at)))];
      }
    }
  });
  if (is_max) return;
  const bool with_padding = node.mode == DnnMode::kAveragePoolWithPadding;
  for (size_t i = 0; i < y.data.size(); ++i) {
    y.data[i] /= with_padding ? static_cast<double>(Volume(node.window)) : seen_by[i];
  }
}

}  // namespace quotient::kernels::cuda::host
