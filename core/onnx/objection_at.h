#pragma once

// An objection (objection.h) and the part of the model that it concerns.

#include <string>

namespace quotient::onnx {

struct ObjectionAt {
  enum class Part { kNode, kDeclaration };

  Part part = Part::kNode;
  std::string value;  // the one that is declared, or the first output that the node has
  std::string text;   // names the node or the value, and says what is wrong
};

}  // namespace quotient::onnx
