#pragma once

// Takes from a process the right to use files that it has no use for, by Landlock
// (https://docs.kernel.org/userspace-api/landlock.html).

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace quotient::runner {

// What a process may do with files. Names of what is not there are passed over.
struct FileRights {
  // Files, and folders with all that is below them, which may be read, listed and run.
  std::vector<std::string> read;
  // Files, devices among them, which may be read and written, but not removed or renamed.
  std::vector<std::string> write;
  // Folders, below which files and folders may be read, written, made and removed.
  std::vector<std::string> own;
};

// From now on this thread, those that it starts, and the programs that these start get EACCES for
// all files but these. What is open stays open. As far as the kernel knows how to, it also keeps
// them from sending signals to other processes, from looking into them, and from local sockets
// without a file. There is no way back, and programs that are started gain no rights
// (no_new_privs). To be called before the process has other threads, which would keep their rights.
// UNAVAILABLE if the kernel has no Landlock or does not permit it.
absl::Status RestrictFiles(const FileRights& rights);

}  // namespace quotient::runner
