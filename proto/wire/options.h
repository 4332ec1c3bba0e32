#pragma once

// Converts between the options of an optimization and their message.

#include "core/optimize/options.h"
#include "quotient/v1/options.pb.h"

namespace quotient::wire {

// Sets every field of the message.
v1::OptimizeOptions ToProto(const optimize::Options& options);

// Unset fields have their defaults. Does not validate; see Options::Validate.
optimize::Options FromProto(const v1::OptimizeOptions& message);

}  // namespace quotient::wire
