#pragma once

// Whether two models have in common what only runtimes understand: opaque nodes, and inputs that
// are no tensors. Names of operands and texts for people make no difference.

#include <string>

#include "absl/strings/string_view.h"
#include "core/onnx/reader.h"

namespace quotient::onnx {

// Whether both nodes are of one operator with the same attributes and subgraphs, or initializers of
// the same content. Not if their weights are in files of their own, which are not looked at.
bool SameContent(const model::Opaque& first, const model::Opaque& second);

// Why nodes with the same content may compute other things in both models: a version of operators,
// or the body of a function. A sentence without a full stop; empty if there is no reason.
std::string WhyContextsDiffer(const Model& first, const Model& second);

// Whether both models declare the same type for an input of this name, whatever it is, but for
// names of dimensions.
bool DeclareSameInput(const Model& first, const Model& second, absl::string_view name);

}  // namespace quotient::onnx
