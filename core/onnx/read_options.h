#pragma once

// How a model is read.

#include <map>
#include <string>

namespace quotient::onnx {

struct ReadOptions {
  // Initializers that are inputs, too, are taken for constants and leave the inputs.
  bool freeze_initializers = false;

  // Nodes to pass through although they could be decoded: why, by the name of their first output.
  // For nodes that turn out to make no sense when types are inferred.
  std::map<std::string, std::string> opaque_nodes;
};

}  // namespace quotient::onnx
