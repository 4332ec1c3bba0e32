// ResNet-50 and ResNeXt-50 have four stages of bottleneck blocks, and differ in width and groups.

#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr int64_t kBlocks[] = {3, 4, 6, 3};

struct Bottleneck {
  int64_t width;   // Channels of the 3x3 convolution in the first stage.
  int64_t groups;  // Groups of the 3x3 convolution.
};

class ResNetBuilder {
 public:
  ResNetBuilder(const std::string& name, uint64_t seed, const NetworkOptions& options,
                const Image& input, Bottleneck bottleneck)
      : paper_(options.paper()),
        bottleneck_(bottleneck),
        net_(name, seed, options.batch, input, {.batch_norm = !paper_}) {}

  ::onnx::ModelProto Build() && {
    Image x = net_.input();
    if (x.channels == 3) {
      x = net_.MaxPool(net_.ConvRelu(x, 64, 7, {.stride = 2}), 3, {.stride = 2});
    }
    for (int stage = 0; stage < 4; ++stage) {
      for (int64_t block = 0; block < kBlocks[stage]; ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        x = Block(x, bottleneck_.width << stage, int64_t{256} << stage, stride);
      }
    }
    if (paper_) {
      net_.Output(x);
    } else {
      net_.Classify(x, 1000);
    }
    return std::move(net_).Build();
  }

 private:
  Image Block(const Image& x, int64_t width, int64_t channels, int64_t stride) {
    Image y = net_.ConvRelu(x, width, 1);
    y = net_.ConvRelu(y, width, 3, {.stride = stride, .groups = bottleneck_.groups});
    y = net_.Conv(y, channels, 1, {.gain = 0.2});  // Keeps sums from growing from block to block.
    return net_.Relu(net_.Add({y, Shortcut(x, channels, stride)}));
  }

  // In the papers' variant, the result is activated.
  Image Shortcut(const Image& x, int64_t channels, int64_t stride) {
    if (stride == 1 && x.channels == channels) return x;
    if (paper_) return net_.ConvRelu(x, channels, 1, {.stride = stride});
    return net_.Conv(x, channels, 1, {.stride = stride, .gain = 1});
  }

  const bool paper_;
  const Bottleneck bottleneck_;
  ConvNet net_;
};

}  // namespace

::onnx::ModelProto ResNet50(const NetworkOptions& options) {
  const Image input = options.paper() ? Image{"input", 64, 56} : Image{"input", 3, 224};
  return ResNetBuilder("resnet50", 14, options, input, {.width = 64, .groups = 1}).Build();
}

::onnx::ModelProto ResNeXt50(const NetworkOptions& options) {
  return ResNetBuilder("resnext50_32x4d", 15, options, {"input", 3, 224},
                       {.width = 128, .groups = 32})
      .Build();
}

}  // namespace quotient::networks
