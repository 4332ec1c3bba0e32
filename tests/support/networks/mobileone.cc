#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr int kBranches = 4;

struct Stage {
  int blocks;
  int64_t channels;
};

constexpr int64_t kStemChannels = 48;
constexpr Stage kStages[] = {{2, 48}, {8, 128}, {10, 256}, {1, 1024}};

// The network as it is trained: each layer is a sum of branches, which equals one convolution.
class MobileOneBuilder {
 public:
  explicit MobileOneBuilder(const NetworkOptions& options)
      : net_("mobileone_s0", 19, options.batch, {"input", 3, 224}, {.batch_norm = true}) {}

  ::onnx::ModelProto Build() && {
    Image x = Layer(net_.input(), kStemChannels, 3, {.stride = 2}, 1);
    for (const Stage& stage : kStages) {
      for (int i = 0; i < stage.blocks; ++i) {
        const int64_t stride = i == 0 ? 2 : 1;
        x = Layer(x, x.channels, 3, {.stride = stride, .groups = x.channels}, kBranches);
        x = Layer(x, stage.channels, 1, {}, kBranches);
      }
    }
    net_.Classify(x, 1000);
    return std::move(net_).Build();
  }

 private:
  // The sum of `branches` convolutions, a pointwise one if the kernel is larger, and the input if
  // it has the same shape; each of them normalized.
  Image Layer(const Image& x, int64_t channels, int64_t kernel, WindowOptions options,
              int branches) {
    std::vector<Image> terms;
    const bool has_input = channels == x.channels && options.stride == 1;
    // Keeps activations from growing from layer to layer: the sum of the convolutions has the gain
    // of one of them, or a small one beside the input.
    options.gain = (has_input ? 0.1 : 2.0) / (branches + (kernel > 1 ? 1 : 0));
    if (kernel > 1) terms.push_back(net_.Conv(x, channels, 1, options));
    if (has_input) terms.push_back(net_.BatchNorm(x));
    for (int i = 0; i < branches; ++i) terms.push_back(net_.Conv(x, channels, kernel, options));
    Image sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) sum = net_.Add({sum, terms[i]});
    return net_.Relu(sum);
  }

  ConvNet net_;
};

}  // namespace

::onnx::ModelProto MobileOne(const NetworkOptions& options) {
  return MobileOneBuilder(options).Build();
}

}  // namespace quotient::networks
