#pragma once

// The networks for tests, benchmarks and the quick start: the nine on which TASO and TENSAT were
// measured, and MobileOne, made without any framework. Weights are random, so only their sizes are
// real.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

namespace quotient::networks {

enum class Variant {
  // The published network as a framework exports it, with biases, normalization, stem and head.
  kFaithful,
  // What TASO and TENSAT measured, for comparison with their numbers: mostly without biases and
  // normalization, some without stem or head, BERT without softmax.
  kPaper,
};

struct NetworkOptions {
  Variant variant = Variant::kFaithful;
  // Adds a BatchNormalization behind every convolution of the faithful SqueezeNet and VGG-19, which
  // were published without. That is how a framework exports a network that it trained with
  // normalization and did not fold.
  bool batch_norm = false;
  // A number or a symbol. Must be 1 for the papers' BERT, which has no batch dimension.
  std::string batch = "1";
  // Type of all floats: "float32", "float16" or "bfloat16".
  std::string float_type = "float32";

  bool paper() const { return variant == Variant::kPaper; }
};

// BERT (Devlin et al., arXiv 1810.04805): 8 layers of BERT-large's size on 64 embedded tokens.
::onnx::ModelProto Bert(const NetworkOptions& options);

// NASRNN (Zoph and Le, arXiv 1611.01578): 5 steps of its cell, hidden size 512.
::onnx::ModelProto NasRnn(const NetworkOptions& options);

// ResNet-50 (He et al., arXiv 1512.03385) with the stride in the 3x3 convolutions, and ResNeXt-50
// 32x4d (Xie et al., arXiv 1611.05431). The papers' variants go only from the first stage to the
// last.
::onnx::ModelProto ResNet50(const NetworkOptions& options);
::onnx::ModelProto ResNeXt50(const NetworkOptions& options);

// NASNet-A (Zoph et al., arXiv 1707.07012): 4 @ 1056, the one for 224 x 224 images. The papers'
// variant is a network of their own, with 27 times the work.
::onnx::ModelProto NasNet(const NetworkOptions& options);

// Inception-v3 (Szegedy et al., arXiv 1512.00567) for 299 x 299 images, without auxiliary
// classifier.
::onnx::ModelProto InceptionV3(const NetworkOptions& options);

// MobileNet-v2 (Sandler et al., arXiv 1801.04381).
::onnx::ModelProto MobileNetV2(const NetworkOptions& options);

// MobileOne-S0 (Vasu et al., arXiv 2206.04040) as it is trained, with up to six branches per layer.
// Not in the papers.
::onnx::ModelProto MobileOne(const NetworkOptions& options);

// SqueezeNet 1.1 (Iandola et al., arXiv 1602.07360).
::onnx::ModelProto SqueezeNet(const NetworkOptions& options);

// VGG-19 (Simonyan and Zisserman, arXiv 1409.1556).
::onnx::ModelProto Vgg19(const NetworkOptions& options);

// Makes the network with this name. Returns nullopt for an unknown name, and for options that the
// network does not support.
std::optional<::onnx::ModelProto> MakeNetwork(const std::string& name,
                                              const NetworkOptions& options);

// The names of the networks that there are in this variant.
std::vector<std::string> NetworkNames(Variant variant = Variant::kFaithful);

}  // namespace quotient::networks
