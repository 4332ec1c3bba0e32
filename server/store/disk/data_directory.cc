#include "server/store/disk/data_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

// Magic number of CIFS, which is missing in linux/magic.h.
constexpr unsigned long kCifsMagic = 0xff534d42;

absl::Status CheckLocal(const std::string& path) {
  struct statfs status;
  if (statfs(path.c_str(), &status) != 0) return os::ErrnoError("stat", path);
  const auto type = static_cast<unsigned long>(status.f_type);
  if (type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == SMB2_SUPER_MAGIC ||
      type == kCifsMagic || type == CEPH_SUPER_MAGIC) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is on a network file system; the data folder must be local"));
  }
  return absl::OkStatus();
}

// deploy/restore.sh holds the lock while it works. If it was killed, its folder is still there, and
// what lies beside it may be half of a backup.
absl::Status CheckRestored(const std::string& path) {
  const std::string restoring = path + "/RESTORING";
  if (access(restoring.c_str(), F_OK) != 0) {
    return errno == ENOENT ? absl::OkStatus() : os::ErrnoError("stat", restoring);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a backup was not restored to the end into ", path,
                   "; run quotient-restore again, or empty the folder to begin without it"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataDirectory>> DataDirectory::Open(const std::string& path) {
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(path));
  QUOTIENT_RETURN_IF_ERROR(CheckLocal(path));
  QUOTIENT_ASSIGN_OR_RETURN(os::Fd lock, os::OpenFile(path + "/LOCK", O_RDWR | O_CREAT));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("another process uses the data folder ", path));
  }
  QUOTIENT_RETURN_IF_ERROR(CheckRestored(path));
  return std::unique_ptr<DataDirectory>(new DataDirectory(path, std::move(lock)));
}

}  // namespace quotient::store
