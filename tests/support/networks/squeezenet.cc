#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr WindowOptions kHalve = {.stride = 2, .padding = Padding::kValid};

class SqueezeNetBuilder {
 public:
  explicit SqueezeNetBuilder(const NetworkOptions& options)
      : paper_(options.paper()),
        net_("squeezenet1_1", 11, options.batch, {"input", 3, 224},
             {.bias = !paper_, .batch_norm = options.batch_norm}) {}

  ::onnx::ModelProto Build() && {
    Image x = net_.MaxPool(net_.ConvRelu(net_.input(), 64, 3, kHalve), 3, kHalve);
    x = Fire(Fire(x, 16, 64), 16, 64);
    x = net_.MaxPool(x, 3, kHalve);
    x = Fire(Fire(x, 32, 128), 32, 128);
    x = net_.MaxPool(x, 3, kHalve);
    x = Fire(Fire(x, 48, 192), 48, 192);
    x = Fire(Fire(x, 64, 256), 64, 256);
    if (paper_) {
      PaperHead(x);
    } else {
      Head(x);
    }
    return std::move(net_).Build();
  }

 private:
  // Squeezes by a 1x1 convolution, and expands by a 1x1 and a 3x3 convolution side by side.
  Image Fire(const Image& x, int64_t squeeze, int64_t expand) {
    const Image s = net_.ConvRelu(x, squeeze, 1);
    return net_.Concat({net_.ConvRelu(s, expand, 1), net_.ConvRelu(s, expand, 3)});
  }

  void Head(const Image& x) {
    NetworkBuilder& builder = net_.builder();
    const Image scores = net_.ConvRelu(x, 1000, 1);
    const std::string logits = builder.Flatten(builder.GlobalAveragePool(scores.value));
    net_.OutputClasses(builder.Softmax(logits, 1), 1000);
  }

  void PaperHead(Image x) {
    NetworkBuilder& builder = net_.builder();
    x.value = builder.Dropout(x.value);
    x = net_.ConvRelu(x, 1000, 1);
    x = net_.AveragePool(x, x.size, {.padding = Padding::kValid});
    net_.OutputClasses(builder.Reshape(x.value, {0, 1000}), 1000);
  }

  const bool paper_;
  ConvNet net_;
};

}  // namespace

::onnx::ModelProto SqueezeNet(const NetworkOptions& options) {
  return SqueezeNetBuilder(options).Build();
}

}  // namespace quotient::networks
