#include "tests/support/networks/network_builder.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

class SqueezeNetBuilder {
 public:
  explicit SqueezeNetBuilder(const NetworkOptions& options)
      : options_(options), builder_("squeezenet1_1", 11) {}

  ::onnx::ModelProto Build() && {
    std::string x = builder_.Input("input", {options_.batch, "3", "224", "224"});
    x = ConvRelu(x, 3, 64, 3, {.stride = 2});
    x = builder_.MaxPool(x, 3, 2);
    x = Fire(x, 64, 16, 64);
    x = Fire(x, 128, 16, 64);
    x = builder_.MaxPool(x, 3, 2);
    x = Fire(x, 128, 32, 128);
    x = Fire(x, 256, 32, 128);
    x = builder_.MaxPool(x, 3, 2);
    x = Fire(x, 256, 48, 192);
    x = Fire(x, 384, 48, 192);
    x = Fire(x, 384, 64, 256);
    x = Fire(x, 512, 64, 256);
    x = ConvRelu(x, 512, 1000, 1, {});
    x = builder_.Softmax(builder_.Flatten(builder_.GlobalAveragePool(x)), 1);
    builder_.Output(x, {options_.batch, "1000"});
    return std::move(builder_).Build();
  }

 private:
  std::string ConvRelu(const std::string& x, int64_t in, int64_t out, int64_t kernel,
                       const ConvOptions& conv) {
    std::string y = builder_.Conv(x, in, out, kernel, conv);
    if (options_.batch_norm) y = builder_.BatchNorm(y, out);
    return builder_.Relu(y);
  }

  // Squeeze by a 1x1 convolution, expand by 1x1 and 3x3 side by side.
  std::string Fire(const std::string& x, int64_t in, int64_t squeeze, int64_t expand) {
    const std::string s = ConvRelu(x, in, squeeze, 1, {});
    const std::string one = ConvRelu(s, squeeze, expand, 1, {});
    const std::string three = ConvRelu(s, squeeze, expand, 3, {.pad = 1});
    return builder_.Concat({one, three}, 1);
  }

  const NetworkOptions options_;
  NetworkBuilder builder_;
};

}  // namespace

::onnx::ModelProto SqueezeNet(const NetworkOptions& options) {
  return SqueezeNetBuilder(options).Build();
}

}  // namespace quotient::networks
