#pragma once

// QuantizeLinear and DequantizeLinear, and which constants they leave in a model.

#include <span>

#include "absl/strings/string_view.h"
#include "core/ops/op.h"

namespace quotient::ops {

// The family of quantize.cc; see families.h.
std::span<const OpDef> QuantizeOps();

// Whether a model keeps nodes of this operator although their inputs are constant. Runtimes look
// for DequantizeLinear of weights, and run what reads it on integers.
bool StaysInModel(absl::string_view op);

}  // namespace quotient::ops
