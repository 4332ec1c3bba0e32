#pragma once

// Counts the bytes that this program has allocated, by functions of its own in place of the C
// library's. A program is linked with it that wants to know how much something takes. Not for
// programs with sanitizers, which have their own.

#include <cstdint>

namespace quotient::testing {

// Bytes allocated and not freed.
int64_t AllocatedBytes();
// The largest number of bytes that were allocated at one time since ResetPeakBytes.
int64_t PeakBytes();
void ResetPeakBytes();

}  // namespace quotient::testing
