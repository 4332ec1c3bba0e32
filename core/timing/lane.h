#pragma once

// The timing lane of the CPU: whoever measures holds it, so that two measurements of one process
// never disturb each other.

#include "absl/synchronization/mutex.h"

namespace quotient::timing {

// Of the whole process; never destroyed.
absl::Mutex& Lane();

}  // namespace quotient::timing
