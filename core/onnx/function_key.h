#pragma once

// Keys that identify the functions of a model.

#include <tuple>

#include "absl/strings/string_view.h"
#include "core/onnx/proto.h"
#include "core/onnx/schema.h"

namespace quotient::onnx {

// Domain, name and overload. Borrows from the message it was made from.
using FunctionKey = std::tuple<absl::string_view, absl::string_view, absl::string_view>;

inline FunctionKey FunctionKeyOf(const FunctionProto& function) {
  return {CanonicalDomain(function.domain()), function.name(), function.overload()};
}

// The key of the function that a node calls, if the model has such a function.
inline FunctionKey CalleeKey(const NodeProto& node) {
  return {CanonicalDomain(node.domain()), node.op_type(), node.overload()};
}

}  // namespace quotient::onnx
