#pragma once

// The networks that tests, benches and the quick start run on, made without any framework.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

namespace quotient::networks {

struct NetworkOptions {
  // BatchNormalization behind every convolution, as a framework exports a network that it trained
  // with normalization and did not fold.
  bool batch_norm = false;
  std::string batch = "1";  // a number or a symbol
};

// SqueezeNet 1.1 (Iandola et al., arXiv 1602.07360), 224 x 224 input, 1000 classes.
::onnx::ModelProto SqueezeNet(const NetworkOptions& options);

// The network of that name; nothing for another name.
std::optional<::onnx::ModelProto> MakeNetwork(const std::string& name,
                                              const NetworkOptions& options);
std::vector<std::string> NetworkNames();

}  // namespace quotient::networks
