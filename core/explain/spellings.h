#pragma once

// Functions that are written out in a way that ONNX Runtime does not recognize, as seen with
// release 1.31.1 and compared by tests/core/optimize/explainer_test with the library that is
// installed.

#include <optional>
#include <vector>

#include "core/explain/fusions.h"

namespace quotient::explain {

// A function that is written out, and the nodes that would be one kernel.
struct Spelling {
  Finding finding;
  std::vector<model::NodeId> nodes;
};

// What this node is the most telling part of: the Erf of a Gelu, the Sqrt of a LayerNormalization,
// the HardSigmoid of a HardSwish, the LayerNormalization behind a sum. Nullopt if it is no part of
// these, or if nothing is known to be in the way.
std::optional<Spelling> WhyNotRecognized(const ModelView& model, model::NodeId node);

}  // namespace quotient::explain
