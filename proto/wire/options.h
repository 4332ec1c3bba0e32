#pragma once

// The options of an optimization as a message.

#include "core/optimize/options.h"
#include "quotient/v1/options.pb.h"

namespace quotient::wire {

// With every field set.
v1::OptimizeOptions ToProto(const optimize::Options& options);

// Unset fields take their defaults. Not validated: see Options::Validate.
optimize::Options FromProto(const v1::OptimizeOptions& message);

}  // namespace quotient::wire
