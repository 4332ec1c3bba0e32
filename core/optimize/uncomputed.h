#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/onnx/reader.h"
#include "core/optimize/prepared.h"
#include "core/verify/cut.h"

namespace quotient::optimize {

// Fails with MODEL_UNSUPPORTED if the default of an input has a type that cannot be evaluated. It
// then looks like an input without a default.
absl::Status CheckDefaults(const onnx::Model& model);

// Whether what cannot be evaluated of two models is the same in both, so that comparing the rest
// says whether they are the same: nodes that are cut out, by the names of their first outputs. Both
// are prepared with the same shapes. Returns the names of nodes of `first` that `second` does
// without: if it computes the same all the same, they do not matter, and if not, nobody knows.
// Fails with MODEL_UNSUPPORTED, naming what cannot be compared.
absl::StatusOr<std::vector<std::string>> CompareUncomputed(const Prepared& first,
                                                           const Prepared& second);

// The key of a node that cannot be evaluated and that a difference at this output (CutGraph) rests
// on: it reads the output, or the output depends on what it computes, for which random values stand
// in both models. Empty if there is none, so that the difference is one of the models.
std::string RestsOnUncomputed(const verify::CutGraph& first, const verify::CutGraph& second,
                              const std::string& output);

}  // namespace quotient::optimize
