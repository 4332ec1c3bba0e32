#pragma once

// The timing lane: the one thread of the process on which kernels are compiled and run, so that two
// measurements never disturb each other.
//
// The lane is a thread rather than a lock because libgomp keeps a pool of threads for every thread
// that opens a parallel region. As soon as all pools together have more threads than the machine
// has cores, threads no longer spin at barriers (throttled_spin_count in libgomp's wait.h), and
// kernels on several threads take 1.5 times as long.

#include "absl/functional/function_ref.h"

namespace quotient::timing {

// Runs `work` on the lane's thread, in order of arrival, and blocks until it has finished. An
// exception that `work` throws is rethrown here. Must not be called from within the lane, where it
// would deadlock. Thread-safe.
void RunInLane(absl::FunctionRef<void()> work);

}  // namespace quotient::timing
