#include "core/os/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/random_id.h"

namespace quotient::os {
namespace {

// A folder, where the file could not be put after all the work; or a device such as /dev/null, in
// whose place it would be put.
bool IsTakenBySomethingElse(const std::string& path) {
  struct stat there;
  return absl::EndsWith(path, "/") || (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path) {
  if (IsTakenBySomethingElse(path)) {
    return MakeError(Reason::kStorageDown, absl::StrCat(path, " is not a regular file"));
  }
  std::string temporary = absl::StrCat(path, ".", RandomId(), ".tmp");
  Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoError("create", path);
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, std::move(temporary), std::move(fd)));
}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Append(absl::string_view bytes) { return WriteFully(fd_, bytes, path_); }

absl::Status AtomicFile::Seal() {
  if (!fd_.valid()) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(Sync(fd_, path_));
  fd_.Close();
  return absl::OkStatus();
}

absl::StatusOr<bool> AtomicFile::WouldReplaceOther() const {
  struct stat old_file, new_file;
  if (stat(path_.c_str(), &old_file) != 0) return false;
  if (stat(temporary_.c_str(), &new_file) != 0) return ErrnoError("look at", temporary_);
  if (!S_ISREG(old_file.st_mode) || old_file.st_size != new_file.st_size) return true;
  QUOTIENT_ASSIGN_OR_RETURN(const Fd there, OpenFile(path_, O_RDONLY));
  QUOTIENT_ASSIGN_OR_RETURN(const Fd here, OpenFile(temporary_, O_RDONLY));
  QUOTIENT_ASSIGN_OR_RETURN(const auto old_bytes, MappedFile::Map(there, path_));
  QUOTIENT_ASSIGN_OR_RETURN(const auto new_bytes, MappedFile::Map(here, temporary_));
  return old_bytes->bytes() != new_bytes->bytes();
}

absl::Status AtomicFile::Commit() {
  QUOTIENT_RETURN_IF_ERROR(Seal());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoError("rename to", path_);
  committed_ = true;
  return SyncDirectory(DirectoryOf(path_));
}

}  // namespace quotient::os
