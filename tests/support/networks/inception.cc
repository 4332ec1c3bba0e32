#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr WindowOptions kValid = {.padding = Padding::kValid};
constexpr WindowOptions kHalve = {.stride = 2, .padding = Padding::kValid};

// Blocks are called A to E, in their order in the network.
class InceptionBuilder {
 public:
  explicit InceptionBuilder(const NetworkOptions& options)
      : paper_(options.paper()),
        net_("inception_v3", 16, options.batch, {"input", 3, 299}, {.batch_norm = !paper_}) {}

  ::onnx::ModelProto Build() && {
    Image x = Stem(net_.input());
    for (const int64_t pooled : {32, 64, 64}) x = BlockA(x, pooled);
    x = BlockB(x);
    for (const int64_t width : {128, 160, 160, 192}) x = BlockC(x, width);
    x = BlockD(x);
    for (int i = 0; i < 2; ++i) x = BlockE(x);
    if (paper_) {
      net_.Output(net_.AveragePool(x, x.size, kValid));
    } else {
      net_.Classify(x, 1000);
    }
    return std::move(net_).Build();
  }

 private:
  Image Unit(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {}) {
    return net_.ConvRelu(x, channels, kernel, options);
  }

  // In the papers' variant, concatenations have two inputs.
  Image Join(const std::vector<Image>& xs) {
    if (!paper_) return net_.Concat(xs);
    const Image front = net_.Concat({xs[0], xs[1]});
    return net_.Concat({front, xs.size() == 3 ? xs[2] : net_.Concat({xs[2], xs[3]})});
  }

  Image Stem(Image x) {
    x = Unit(Unit(x, 32, 3, kHalve), 32, 3, kValid);
    x = net_.MaxPool(Unit(x, 64, 3), 3, kHalve);
    x = Unit(Unit(x, 80, 1), 192, 3, kValid);
    return net_.MaxPool(x, 3, kHalve);
  }

  Image BlockA(const Image& x, int64_t pooled) {
    return Join({Unit(x, 64, 1), Unit(Unit(x, 48, 1), 64, 5),
                 Unit(Unit(Unit(x, 64, 1), 96, 3), 96, 3),
                 Unit(net_.AveragePool(x, 3, {}), pooled, 1)});
  }

  Image BlockB(const Image& x) {
    return Join({Unit(x, 384, 3, kHalve), Unit(Unit(Unit(x, 64, 1), 96, 3), 96, 3, kHalve),
                 paper_ ? net_.AveragePool(x, 3, kHalve) : net_.MaxPool(x, 3, kHalve)});
  }

  Image BlockC(const Image& x, int64_t width) {
    const Size row(1, 7), column(7, 1);
    const Image once = Unit(Unit(Unit(x, width, 1), width, row), 192, column);
    Image twice = Unit(Unit(Unit(x, width, 1), width, column), width, row);
    twice = Unit(Unit(twice, width, column), 192, row);
    return Join({Unit(x, 192, 1), once, twice, Unit(net_.AveragePool(x, 3, {}), 192, 1)});
  }

  Image BlockD(const Image& x) {
    const Image crossed = Unit(Unit(Unit(x, 192, 1), 192, Size(1, 7)), 192, Size(7, 1));
    return net_.Concat({Unit(Unit(x, 192, 1), 320, 3, kHalve), Unit(crossed, 192, 3, kHalve),
                        net_.MaxPool(x, 3, kHalve)});
  }

  Image BlockE(const Image& x) {
    const Image pool = paper_ ? net_.MaxPool(x, 3, {}) : net_.AveragePool(x, 3, {});
    return net_.Concat({Unit(x, 320, 1), Fork(Unit(x, 384, 1)), Fork(Unit(Unit(x, 448, 1), 384, 3)),
                        Unit(pool, 192, 1)});
  }

  Image Fork(const Image& x) {
    return net_.Concat({Unit(x, 384, Size(1, 3)), Unit(x, 384, Size(3, 1))});
  }

  const bool paper_;
  ConvNet net_;
};

}  // namespace

::onnx::ModelProto InceptionV3(const NetworkOptions& options) {
  return InceptionBuilder(options).Build();
}

}  // namespace quotient::networks
