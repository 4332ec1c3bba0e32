#pragma once

// Options for reading a model.

#include <map>
#include <string>

namespace quotient::onnx {

struct ReadOptions {
  // Treat initializers that are also inputs as constants, and remove them from the inputs.
  bool freeze_initializers = false;

  // Nodes to make opaque although they could be decoded, by the name of their first output, with
  // the reason. For nodes that turn out to be invalid when types are inferred.
  std::map<std::string, std::string> opaque_nodes;
};

}  // namespace quotient::onnx
