#pragma once

// Which kernels ONNX Runtime runs in its blocked layout, NCHWc, and why others stay plain: as seen
// with release 1.31.1 and compared by tests/core/optimize/explainer_test with the library that is
// installed.

#include <optional>

#include "core/explain/fusions.h"

namespace quotient::explain {

// Why a Conv or a pooling is not in blocks of that many channels, or what keeps a value behind it
// from staying there. Nullopt if it is, or if that is not for it.
std::optional<Finding> WhyNotBlocked(const ModelView& model, model::NodeId node, int64_t block);

}  // namespace quotient::explain
