#pragma once

namespace quotient::os {

// Gives the calling thread, and all threads and processes that are started from it later, a core
// before those of other processes: the lowest real-time priority, with time shared among equals
// (SCHED_RR, sched(7)). Returns false if the system does not permit it, and changes nothing then.
// It takes CAP_SYS_NICE or a limit of 1 (RLIMIT_RTPRIO). It is also left alone where real-time
// threads may use all of the processor (/proc/sys/kernel/sched_rt_runtime_us), because one that
// never ends would leave nothing to whoever is to end it.
bool TakePrecedence();

// If the calling thread has precedence, and has computed for `us` microseconds: sleeps for twice
// the share that the kernel keeps for other threads (a tenth of `us`, if the kernel's settings are
// its defaults). The kernel would else take that share in the middle of what is measured next.
void LeaveShareToOthers(double us);

}  // namespace quotient::os
