#pragma once

// Converts between what a job would make of a model and its message.

#include "core/optimize/validate.h"
#include "quotient/v1/model.pb.h"

namespace quotient::wire {

// `untouched` is unset if it is OK.
v1::ValidateModelResponse ToProto(const optimize::Validation& validation);
optimize::Validation FromProto(const v1::ValidateModelResponse& message);

}  // namespace quotient::wire
