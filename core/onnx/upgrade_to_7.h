#pragma once

// Forms of operators before opset 7 -> those of opset 7, which brought today's broadcasting.

#include "core/onnx/upgrade.h"

namespace quotient::onnx {

// For a node of `form.opset` < 7 whose operator's meaning was changed up to opset 7. False if
// it has no equivalent that we know: the node is opaque.
bool UpgradeTo7(const OldForm& form, model::Node& node);

}  // namespace quotient::onnx
