#pragma once

// Builds networks on square NCHW images. Extends NetworkBuilder by channels and sizes, which follow
// from layer to layer, and by the bias and normalization behind each convolution.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/networks/network_builder.h"

namespace quotient::networks {

struct Image {
  std::string value;
  int64_t channels;
  int64_t size;  // Height and width.
};

enum class Padding {
  kSame,   // (kernel - 1) / 2 on both sides, even at stride 2. Kernels must be odd.
  kValid,  // No padding.
};

struct WindowOptions {
  int64_t stride = 1;
  Padding padding = Padding::kSame;
  int64_t groups = 1;  // For convolutions.
  double gain = 2;     // NetworkBuilder::Weight, for convolutions.
};

class ConvNet {
 public:
  // What follows each convolution.
  struct Style {
    bool bias = false;
    bool batch_norm = false;
  };

  // Begins a network with one input.
  ConvNet(const std::string& name, uint64_t seed, const std::string& batch, Image input,
          Style style);

  const Image& input() const { return input_; }

  // Kernels that are not square are allowed only with kSame and stride 1, which keep images square.
  Image Conv(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {});
  Image ConvRelu(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {}) {
    return Relu(Conv(x, channels, kernel, options));
  }
  // A convolution without the bias and normalization of the style.
  Image PlainConv(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {});
  Image BatchNorm(const Image& x);
  Image Relu(const Image& x);
  // Adds two images. They are passed as a list, because a braced list is evaluated in order and the
  // arguments of a call need not be.
  Image Add(const std::vector<Image>& xs);
  Image Concat(const std::vector<Image>& xs);
  Image MaxPool(const Image& x, int64_t kernel, const WindowOptions& options);
  Image AveragePool(const Image& x, int64_t kernel, const WindowOptions& options);

  // Ways to end a network. Output makes an image the output. OutputClasses makes `x`, which has one
  // element or one-pixel channel per class, the output. Classify appends a global average, a fully
  // connected layer and a softmax.
  void Output(const Image& x);
  void OutputClasses(const std::string& x, int64_t classes);
  void Classify(const Image& x, int64_t classes);

  // For layers that only one network has.
  NetworkBuilder& builder() { return builder_; }
  ::onnx::ModelProto Build() && { return std::move(builder_).Build(); }

 private:
  Image Convolved(const Image& x, int64_t channels, Size kernel, const WindowOptions& options,
                  bool bias);

  const std::string batch_;
  const Style style_;
  NetworkBuilder builder_;
  Image input_;
};

}  // namespace quotient::networks
