#pragma once

// Builds networks on square NCHW images: NetworkBuilder plus channels and sizes, which follow from
// layer to layer, and what stands behind each convolution.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/networks/network_builder.h"

namespace quotient::networks {

struct Image {
  std::string value;
  int64_t channels;
  int64_t size;  // height and width
};

enum class Padding {
  kSame,   // (kernel - 1) / 2 on both sides, at stride 2 too; kernels are odd
  kValid,  // none
};

struct WindowOptions {
  int64_t stride = 1;
  Padding padding = Padding::kSame;
  int64_t groups = 1;  // of a convolution
  double gain = 2;     // of a convolution's weight
};

class ConvNet {
 public:
  // What stands behind each convolution's product.
  struct Style {
    bool bias = false;
    bool batch_norm = false;
  };

  // A network with one input, image().
  ConvNet(const std::string& name, uint64_t seed, const std::string& batch, Image input,
          Style style);

  const Image& input() const { return input_; }

  // Kernels that are not square only with kSame and stride 1, which keep the image square.
  Image Conv(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {});
  Image ConvRelu(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {}) {
    return Relu(Conv(x, channels, kernel, options));
  }
  // Without what stands behind the others.
  Image PlainConv(const Image& x, int64_t channels, Size kernel, const WindowOptions& options = {});
  Image BatchNorm(const Image& x);
  Image Relu(const Image& x);
  // Of two. In braces operands are made in their order, which a call's arguments need not be.
  Image Add(const std::vector<Image>& xs);
  Image Concat(const std::vector<Image>& xs);
  Image MaxPool(const Image& x, int64_t kernel, const WindowOptions& options);
  Image AveragePool(const Image& x, int64_t kernel, const WindowOptions& options);

  // Ends: an image as it is; one value for each class, where `x` has as many channels and one
  // pixel, or elements; a global average, one fully connected layer and a softmax.
  void Output(const Image& x);
  void OutputClasses(const std::string& x, int64_t classes);
  void Classify(const Image& x, int64_t classes);

  // For what only one network has.
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
