#include "server/store/disk/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::store {

absl::Status TendBallast(const std::string& path, int64_t free_bytes, int64_t min_free_bytes) {
  struct stat status;
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && free_bytes < kBallastBytes) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return os::ErrnoError("remove", path);
    Log().warn("the disk is full, {} was given up", path);
  }
  // A crash may have left a file that takes nothing.
  const bool is_whole = exists && int64_t{status.st_blocks} * 512 >= kBallastBytes;
  if (is_whole || free_bytes - 2 * kBallastBytes < min_free_bytes) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(path, O_WRONLY | O_CREAT));
  errno = posix_fallocate(fd.get(), 0, kBallastBytes);
  if (errno == 0) return absl::OkStatus();
  const absl::Status failure = os::ErrnoError("make", path);
  unlink(path.c_str());
  return failure;
}

}  // namespace quotient::store
