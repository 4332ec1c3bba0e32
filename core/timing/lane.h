#pragma once

// The timing lane of the CPU: the one thread of the process on which kernels are compiled and run,
// so that two measurements never disturb each other.
//
// A thread and not a lock: libgomp keeps a pool of threads for every thread that opens a parallel
// region. As soon as all pools together have more threads than the machine has cores, none of them
// spins at a barrier any more (throttled_spin_count in libgomp's wait.h), and kernels on several
// threads take half as long again.

#include "absl/functional/function_ref.h"

namespace quotient::timing {

// Calls `work` on the lane's thread, in order of arrival, and returns when it has returned; throws
// what it has thrown. Not to be called from within the lane. Thread-safe.
void RunInLane(absl::FunctionRef<void()> work);

}  // namespace quotient::timing
