#pragma once

// Simplifies a model: without a device and without timing.

#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/report/simplification.h"

namespace quotient::optimize {

struct Simplified {
  OptimizedModel files;  // The bytes of the input if the model stayed as it is.
  report::Simplification report;
};

// Folds constants and applies the rules that simplify (core/rules/simplifying.h). Of the graphs
// that they lead to, takes one with the fewest operators, then with the most of the model's own,
// then with the least work. It has no more operators than the model and is not predicted to take
// longer on one core, at the sizes of the check; else work comes first. The opset stays as it is
// unless Options::max_opset says otherwise. Types that inference finds are written beside the
// values, and Constant nodes become initializers.
//
// Whatever is returned was read back and checked against the model, like a result of Optimize. If
// it disagrees, the graph in which constants were only folded is tried, and then the model is
// returned as it came, with notes. The result depends on the number of threads and on time only if
// choosing takes more than ten seconds, which a note tells.
//
// Of the options those count that say how the model is read and checked, Options::max_opset,
// disabled_rules, kept_values and max_folded_bytes. `external_location` is that of the result's
// external data. Fails as Optimize does, but needs no device.
absl::StatusOr<Simplified> Simplify(const ModelFiles& files, const Options& options,
                                    const std::string& external_location, const Clock& clock,
                                    const StopCondition& stop);

}  // namespace quotient::optimize
