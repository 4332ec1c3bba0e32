#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

struct Block {
  int64_t expanded;
  int64_t stride;
  int64_t channels;
};

// The papers' variant comes from the ONNX model zoo. It shrinks the image in other blocks than the
// published network, and expands even in the first block.
constexpr Block kPaperBlocks[] = {
    {32, 1, 16},  {96, 2, 24},   {144, 1, 24},  {144, 2, 32},  {192, 1, 32},  {192, 1, 32},
    {192, 1, 64}, {384, 1, 64},  {384, 1, 64},  {384, 1, 64},  {384, 2, 96},  {576, 1, 96},
    {576, 1, 96}, {576, 2, 160}, {960, 1, 160}, {960, 1, 160}, {960, 1, 320},
};
constexpr Block kBlocks[] = {
    {32, 1, 16},  {96, 2, 24},   {144, 1, 24},  {144, 2, 32},  {192, 1, 32},  {192, 1, 32},
    {192, 2, 64}, {384, 1, 64},  {384, 1, 64},  {384, 1, 64},  {384, 1, 96},  {576, 1, 96},
    {576, 1, 96}, {576, 2, 160}, {960, 1, 160}, {960, 1, 160}, {960, 1, 320},
};

class MobileNetBuilder {
 public:
  explicit MobileNetBuilder(const NetworkOptions& options)
      : paper_(options.paper()),
        net_("mobilenet_v2", 17, options.batch, {"input", 3, 224}, {.batch_norm = true}) {}

  ::onnx::ModelProto Build() && {
    Image x = Active(net_.Conv(net_.input(), 32, 3, {.stride = 2}));
    for (const Block& block : paper_ ? kPaperBlocks : kBlocks) x = Residual(x, block);
    x = Active(net_.Conv(x, 1280, 1));
    if (paper_) {
      PaperHead(x);
    } else {
      net_.Classify(x, 1000);
    }
    return std::move(net_).Build();
  }

 private:
  // Relu6; in the papers' variant Relu.
  Image Active(Image x) {
    if (paper_) return net_.Relu(x);
    x.value = net_.builder().Clip(x.value, 0, 6);
    return x;
  }

  Image Residual(const Image& x, const Block& block) {
    Image y = x;
    if (paper_ || block.expanded != x.channels) y = Active(net_.Conv(y, block.expanded, 1));
    y = Active(net_.Conv(y, block.expanded, 3, {.stride = block.stride, .groups = block.expanded}));
    if (block.stride > 1 || x.channels != block.channels) {
      return net_.Conv(y, block.channels, 1, {.gain = 1});
    }
    y = net_.Conv(y, block.channels, 1,
                  {.gain = 0.2});  // Keeps sums from growing from block to block.
    return net_.Add({y, x});
  }

  // In the papers' variant, the classifier is a convolution without normalization.
  void PaperHead(Image x) {
    x = net_.AveragePool(x, x.size, {.padding = Padding::kValid});
    x = net_.PlainConv(x, 1000, 1, {.gain = 1});
    net_.OutputClasses(net_.builder().Reshape(x.value, {0, 1000}), 1000);
  }

  const bool paper_;
  ConvNet net_;
};

}  // namespace

::onnx::ModelProto MobileNetV2(const NetworkOptions& options) {
  return MobileNetBuilder(options).Build();
}

}  // namespace quotient::networks
