#pragma once

// Which neighbours ONNX Runtime makes one kernel of, and what keeps it from that. All of it was
// found by looking at what release 1.31.1 makes of small models; tests/core/optimize/explainer_test
// compares each reason with the library that is installed.

#include <optional>
#include <string>

#include "core/explain/model_view.h"

namespace quotient::explain {

struct Finding {
  std::string what;  // "Mul behind Conv"
  Reason reason;
};

// Why this node, which has a kernel to itself or with what is behind it, was not taken into the
// kernel that computes one of its operands, or into one that reads its value. Nullopt if no fusion
// is near.
std::optional<Finding> WhyNotFused(const ModelView& model, model::NodeId node);

}  // namespace quotient::explain
