#pragma once

// What ONNX's own checker would say against a node. None of it does harm to us, and some runtimes
// run such models, so the node is passed through and not looked into.

#include <optional>
#include <string>

#include "core/onnx/proto.h"

namespace quotient::onnx {

// The first thing that the operator's schema at `opset` does not allow, for people: "has 2 inputs,
// not 1 to 1". Nothing if the node is as it should be: then all its attributes are of the kinds
// that the schema names, and no two have one name. For nodes of the default domain that stand in no
// function's body.
std::optional<std::string> Objection(const NodeProto& node, int opset);

}  // namespace quotient::onnx
