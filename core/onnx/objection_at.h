#pragma once

// An objection (objection.h) and the part of the model that it concerns.

#include <string>

namespace quotient::onnx {

struct ObjectionAt {
  enum class Part { kNode, kDeclaration };

  Part part = Part::kNode;
  std::string value;  // Name of the declared value, or of the node's first output.
  std::string text;   // Names the node or the value, and says what is wrong.
};

}  // namespace quotient::onnx
