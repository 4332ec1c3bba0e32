#pragma once

// How much memory there is to plan with.

#include <cstdint>

namespace quotient::os {

// Bytes of the machine, or of the control group that the process runs in if that has less. Linux
// hands out more than it has and ends who then uses it: what would take most of this must not even
// be tried. Thread-safe; asked once.
int64_t MemoryBytes();

}  // namespace quotient::os
