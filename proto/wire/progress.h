#pragma once

// Converts between the progress of an optimization and its message.

#include "core/base/progress.h"
#include "quotient/v1/optimizer.pb.h"

namespace quotient::wire {

// Times are in milliseconds on the wire.
v1::Progress ToProto(const Progress& progress);
Progress FromProto(const v1::Progress& message);

}  // namespace quotient::wire
