#pragma once

// The networks that tests, benches and the quick start run on, made without any framework: the nine
// on which TASO and TENSAT were measured. Weights are drawn, so only their sizes are real.

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
  // Faithful SqueezeNet and VGG-19, which were published without: BatchNormalization behind every
  // convolution, as a framework exports a network that it trained with normalization and did not
  // fold.
  bool batch_norm = false;
  // A number or a symbol. BERT of the papers has no batch dimension: 1.
  std::string batch = "1";
  // Of all its floats: "float32", "float16" or "bfloat16".
  std::string float_type = "float32";

  bool paper() const { return variant == Variant::kPaper; }
};

// BERT (Devlin et al., arXiv 1810.04805): 8 layers of BERT-large's size on 64 embedded tokens.
::onnx::ModelProto Bert(const NetworkOptions& options);

// NASRNN (Zoph and Le, arXiv 1611.01578): 5 steps of its cell, hidden size 512.
::onnx::ModelProto NasRnn(const NetworkOptions& options);

// ResNet-50 (He et al., arXiv 1512.03385), stride in the 3x3 convolutions; of the papers: from the
// first stage to the last. ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431).
::onnx::ModelProto ResNet50(const NetworkOptions& options);
::onnx::ModelProto ResNeXt50(const NetworkOptions& options);

// NASNet-A (Zoph et al., arXiv 1707.07012): 4 @ 1056, the one for 224 x 224 images; of the papers:
// their own, with 27 times the work.
::onnx::ModelProto NasNet(const NetworkOptions& options);

// Inception-v3 (Szegedy et al., arXiv 1512.00567), 299 x 299 input, no auxiliary classifier.
::onnx::ModelProto InceptionV3(const NetworkOptions& options);

// MobileNet-v2 (Sandler et al., arXiv 1801.04381).
::onnx::ModelProto MobileNetV2(const NetworkOptions& options);

// SqueezeNet 1.1 (Iandola et al., arXiv 1602.07360).
::onnx::ModelProto SqueezeNet(const NetworkOptions& options);

// VGG-19 (Simonyan and Zisserman, arXiv 1409.1556).
::onnx::ModelProto Vgg19(const NetworkOptions& options);

// The network of that name; nothing for another name and where an option is not for it.
std::optional<::onnx::ModelProto> MakeNetwork(const std::string& name,
                                              const NetworkOptions& options);
std::vector<std::string> NetworkNames();

}  // namespace quotient::networks
