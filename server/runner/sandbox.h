#pragma once

// Takes from the process of a job what it has no use for, since the model that it reads may turn
// its reader against the machine.

#include "absl/status/status.h"

namespace quotient::runner {

// From now on all threads of this process, and the programs that it starts, get EPERM from the
// kernel for what runs no model: sockets but local ones, looking into other processes, mounting,
// loading code into the kernel, setting clocks, new namespaces, keys, and io_uring, which would get
// around all of this. Programs that are started gain no rights by it (no_new_privs). There is no
// way back. UNAVAILABLE if the kernel has no seccomp filters, or does not permit them.
absl::Status EnterSandbox();

}  // namespace quotient::runner
