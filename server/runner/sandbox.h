#pragma once

// Takes from the process of a job what it has no use for, since the model that it reads may turn
// its reader against the machine.

#include <cstdint>

#include "absl/status/status.h"
#include "server/runner/file_rights.h"

namespace quotient::runner {

// What the process keeps.
struct Sandbox {
  FileRights files;
  // Whether it may connect to local sockets that have names, as drivers of GPUs do.
  bool connects = false;
  int64_t most_file_bytes = INT64_MAX;  // Of a file that it writes.
};

// From now on this process, which has no other thread yet, and the programs that it starts have no
// files but those that are given (RestrictFiles), write none that are larger, keep few open, and
// get EPERM from the kernel for what runs no model: sockets but local ones, looking into other
// processes, leaving the group of processes that ends with this one, changing whose files are and
// who may use them, mounting, loading code into the kernel, setting clocks, new namespaces, keys,
// and io_uring, which would get around all of this. Of the capabilities of root two are left: to
// read and write what the rights name, and to be scheduled before others. Programs that are started
// gain no rights by it (no_new_privs). There is no way back. UNAVAILABLE if the kernel lacks or
// does not permit a part of it; the rest holds.
absl::Status EnterSandbox(const Sandbox& sandbox);

}  // namespace quotient::runner
