#pragma once

// The machine's clock, set back while something waits.

#include "absl/functional/function_ref.h"

namespace quotient::testing {

// Calls `wait`, which should take less than half a minute, with the machine's clock
// (CLOCK_REALTIME) set back by a minute: the program reads the time as it was before, and the
// kernel ends waits by the time as it is now. Returns whether that made no difference. One call at
// a time.
bool IgnoresClockSetBack(absl::FunctionRef<void()> wait);

}  // namespace quotient::testing
