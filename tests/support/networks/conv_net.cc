#include "tests/support/networks/conv_net.h"

#include "absl/strings/str_cat.h"

namespace quotient::networks {
namespace {

int64_t PadOf(int64_t kernel, Padding padding) {
  return padding == Padding::kSame ? (kernel - 1) / 2 : 0;
}

int64_t SizeBehind(int64_t size, int64_t kernel, const WindowOptions& options) {
  return (size + 2 * PadOf(kernel, options.padding) - kernel) / options.stride + 1;
}

PoolOptions ForPool(int64_t kernel, const WindowOptions& options) {
  return {.stride = options.stride, .pad = PadOf(kernel, options.padding)};
}

}  // namespace

ConvNet::ConvNet(const std::string& name, uint64_t seed, const std::string& batch, Image input,
                 Style style)
    : batch_(batch), style_(style), builder_(name, seed), input_(std::move(input)) {
  const std::string size = absl::StrCat(input_.size);
  builder_.Input(input_.value, {batch_, absl::StrCat(input_.channels), size, size});
}

Image ConvNet::Conv(const Image& x, int64_t channels, Size kernel, const WindowOptions& options) {
  const Image y = Convolved(x, channels, kernel, options, style_.bias);
  return style_.batch_norm ? BatchNorm(y) : y;
}

Image ConvNet::PlainConv(const Image& x, int64_t channels, Size kernel,
                         const WindowOptions& options) {
  return Convolved(x, channels, kernel, options, false);
}

Image ConvNet::Convolved(const Image& x, int64_t channels, Size kernel,
                         const WindowOptions& options, bool bias) {
  const Size pad(PadOf(kernel.height, options.padding), PadOf(kernel.width, options.padding));
  const ConvOptions conv = {.stride = options.stride,
                            .pad = pad,
                            .groups = options.groups,
                            .bias = bias,
                            .gain = options.gain};
  return {builder_.Conv(x.value, x.channels, channels, kernel, conv), channels,
          SizeBehind(x.size, kernel.height, options)};
}

Image ConvNet::BatchNorm(const Image& x) {
  return {builder_.BatchNorm(x.value, x.channels), x.channels, x.size};
}

Image ConvNet::Relu(const Image& x) { return {builder_.Relu(x.value), x.channels, x.size}; }

Image ConvNet::Add(const std::vector<Image>& xs) {
  return {builder_.Add(xs[0].value, xs[1].value), xs[0].channels, xs[0].size};
}

Image ConvNet::Concat(const std::vector<Image>& xs) {
  std::vector<std::string> values;
  int64_t channels = 0;
  for (const Image& x : xs) {
    values.push_back(x.value);
    channels += x.channels;
  }
  return {builder_.Concat(values, 1), channels, xs[0].size};
}

Image ConvNet::MaxPool(const Image& x, int64_t kernel, const WindowOptions& options) {
  return {builder_.MaxPool(x.value, kernel, ForPool(kernel, options)), x.channels,
          SizeBehind(x.size, kernel, options)};
}

Image ConvNet::AveragePool(const Image& x, int64_t kernel, const WindowOptions& options) {
  return {builder_.AveragePool(x.value, kernel, ForPool(kernel, options)), x.channels,
          SizeBehind(x.size, kernel, options)};
}

void ConvNet::Output(const Image& x) {
  const std::string size = absl::StrCat(x.size);
  builder_.Output(x.value, {batch_, absl::StrCat(x.channels), size, size});
}

void ConvNet::OutputClasses(const std::string& x, int64_t classes) {
  builder_.Output(x, {batch_, absl::StrCat(classes)});
}

void ConvNet::Classify(const Image& x, int64_t classes) {
  const std::string features = builder_.Flatten(builder_.GlobalAveragePool(x.value));
  const std::string logits = builder_.Gemm(features, x.channels, classes, 1);
  OutputClasses(builder_.Softmax(logits, 1), classes);
}

}  // namespace quotient::networks
