#pragma once

// Converts operators from opsets before 7 to opset 7, which introduced the present broadcasting.

#include "core/onnx/upgrade.h"

namespace quotient::onnx {

// For a node of `form.opset` < 7 whose operator changed its meaning up to opset 7. Returns false if
// no equivalent is known, so that the node must be opaque.
bool UpgradeTo7(const OldForm& form, model::Node& node);

}  // namespace quotient::onnx
