#pragma once

// Options for reading a model.

#include <map>
#include <string>
#include <vector>

namespace quotient::onnx {

struct ReadOptions {
  // Treat initializers that are also inputs as constants, and remove them from the inputs.
  bool freeze_initializers = false;

  // Nodes to make opaque although they could be decoded, by the name of their first output, with
  // the reason. For nodes that turn out to be invalid when types are inferred.
  std::map<std::string, std::string> opaque_nodes;

  // Names of values that the model must still have when it is written: they count as outputs in
  // between. OPTION_INVALID if the main graph has no such value.
  std::vector<std::string> kept_values;
};

}  // namespace quotient::onnx
