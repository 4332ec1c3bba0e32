#include <utility>

#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr WindowOptions kHalve = {.stride = 2};

// NASNet-A (4 @ 1056). A cell reads the results of the two cells before it, `x` and, before that,
// `p`.
class NasNetBuilder {
 public:
  explicit NasNetBuilder(const NetworkOptions& options)
      : net_("nasnet_a_mobile", 19, options.batch, {"input", 3, 224}, {.batch_norm = true}) {}

  ::onnx::ModelProto Build() && {
    Image x = net_.Conv(net_.input(), 32, 3, {.stride = 2, .padding = Padding::kValid});
    Image p = x;
    Advance(x, p, Reduction(x, p, 11));
    Advance(x, p, Reduction(x, Adjusted(p, x, 22), 22));
    for (const int64_t channels : {44, 88, 176}) {
      if (channels != 44) Advance(x, p, Reduction(x, Adjusted(p, x, channels), channels));
      for (int i = 0; i < 4; ++i) Advance(x, p, Normal(x, Adjusted(p, x, channels), channels));
    }
    net_.Classify(net_.Relu(x), 1000);
    return std::move(net_).Build();
  }

 private:
  static void Advance(Image& x, Image& p, Image next) { p = std::exchange(x, std::move(next)); }

  Image Normal(const Image& x, const Image& p, int64_t channels) {
    const Image h = Squeeze(x, channels);
    return net_.Concat({p, net_.Add({Separable(h, channels, 5), Separable(p, channels, 3)}),
                        net_.Add({Separable(p, channels, 5), Separable(p, channels, 3)}),
                        net_.Add({Average(h), p}), net_.Add({Average(p), Average(p)}),
                        net_.Add({Separable(h, channels, 3), h})});
  }

  Image Reduction(const Image& x, const Image& p, int64_t channels) {
    const Image h = Squeeze(x, channels);
    const Image a = net_.Add({Separable(h, channels, 5, 2), Separable(p, channels, 7, 2)});
    const Image b = net_.Add({net_.MaxPool(h, 3, kHalve), Separable(p, channels, 7, 2)});
    const Image c = net_.Add({net_.AveragePool(h, 3, kHalve), Separable(p, channels, 5, 2)});
    return net_.Concat({b, c, net_.Add({b, Average(a)}),
                        net_.Add({Separable(a, channels, 3), net_.MaxPool(h, 3, kHalve)})});
  }

  // Gives p the size of x and this number of channels.
  Image Adjusted(const Image& p, const Image& x, int64_t channels) {
    if (p.size != x.size) return FactorizedReduction(net_.Relu(p), channels);
    return p.channels == channels ? p : Squeeze(p, channels);
  }

  // Computes half of the channels from pixels in even rows and columns, and half from odd ones.
  Image FactorizedReduction(const Image& x, int64_t channels) {
    NetworkBuilder& builder = net_.builder();
    Image odd = x;
    odd.value = builder.SliceFrom(builder.Pad(x.value, {0, 0, 1, 1}), {0, 0, 1, 1});
    std::vector<Image> halves;
    for (const Image& from : {x, odd}) {
      halves.push_back(net_.PlainConv(net_.AveragePool(from, 1, kHalve), channels / 2, 1));
    }
    return net_.BatchNorm(net_.Concat(halves));
  }

  Image Squeeze(const Image& x, int64_t channels) {
    return net_.Conv(net_.Relu(x), channels, 1, {.gain = 1});
  }

  // Applies two times: Relu, depthwise convolution, 1x1 convolution, normalization.
  Image Separable(const Image& x, int64_t channels, int64_t kernel, int64_t stride = 1) {
    return SeparableOnce(SeparableOnce(x, channels, kernel, stride), channels, kernel, 1);
  }
  Image SeparableOnce(const Image& x, int64_t channels, int64_t kernel, int64_t stride) {
    const WindowOptions depthwise = {.stride = stride, .groups = x.channels, .gain = 1};
    return net_.Conv(net_.PlainConv(net_.Relu(x), x.channels, kernel, depthwise), channels, 1);
  }

  Image Average(const Image& x) { return net_.AveragePool(x, 3, {}); }

  ConvNet net_;
};

// The papers' variant. It has another stem and stages of five cells, which begin with one input.
// All squeezing convolutions are activated, and separable convolutions are applied once and without
// activation.
class PaperNasNetBuilder {
 public:
  explicit PaperNasNetBuilder(const NetworkOptions& options)
      : net_("nasnet_a_paper", 19, options.batch, {"input", 3, 224}, {}) {}

  ::onnx::ModelProto Build() && {
    Image x = net_.MaxPool(net_.ConvRelu(net_.input(), 64, 7, kHalve), 3, kHalve);
    for (const int64_t channels : {128, 256, 512}) {
      Image previous = x;
      for (int i = 0; i < 5; ++i) previous = std::exchange(x, Normal(previous, x, channels));
      x = Reduction(previous, x, 2 * channels);
    }
    net_.Output(x);
    return std::move(net_).Build();
  }

 private:
  Image Normal(const Image& previous, const Image& current, int64_t channels) {
    const Image cur = Squeeze(current, channels);
    const Image prev = Squeeze(previous, channels);
    return net_.Concat({net_.Add({Separable(cur, 3), cur}),
                        net_.Add({Separable(prev, 3), Separable(cur, 3)}),
                        net_.Add({Average(cur), prev}), net_.Add({Average(prev), Average(prev)}),
                        net_.Add({Separable(prev, 3), Separable(prev, 3)})});
  }

  Image Reduction(const Image& previous, const Image& current, int64_t channels) {
    const Image cur = Squeeze(current, channels);
    const Image prev = Squeeze(previous, channels);
    const Image a = net_.Add({Separable(prev, 7, 2), Separable(cur, 5, 2)});
    const Image b = net_.Add({net_.MaxPool(cur, 3, kHalve), Separable(prev, 7, 2)});
    const Image c = net_.Add({net_.AveragePool(cur, 3, kHalve), Separable(prev, 5, 2)});
    const Image d = net_.Add({net_.MaxPool(cur, 3, kHalve), Separable(a, 3)});
    return net_.Concat({a, b, c, d, net_.Add({Average(a), b})});
  }

  // The gain compensates for the growth by the sums in the previous cell.
  Image Squeeze(const Image& x, int64_t channels) {
    return net_.ConvRelu(x, channels, 1, {.gain = 1.2});
  }

  Image Separable(const Image& x, int64_t kernel, int64_t stride = 1) {
    const WindowOptions depthwise = {.stride = stride, .groups = x.channels, .gain = 1};
    return net_.Conv(net_.Conv(x, x.channels, kernel, depthwise), x.channels, 1, {.gain = 0.5});
  }

  Image Average(const Image& x) { return net_.AveragePool(x, 3, {}); }

  ConvNet net_;
};

}  // namespace

::onnx::ModelProto NasNet(const NetworkOptions& options) {
  return options.paper() ? PaperNasNetBuilder(options).Build() : NasNetBuilder(options).Build();
}

}  // namespace quotient::networks
