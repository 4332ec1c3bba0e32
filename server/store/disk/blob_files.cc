#include "server/store/disk/blob_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/store/disk/blob_check.h"
#include "server/store/disk/read_faults.h"

namespace quotient::store {
namespace {

class MappedBlob : public jobs::Blob {
 public:
  explicit MappedBlob(std::unique_ptr<os::MappedFile> file)
      : file_(std::move(file)), range_(file_->bytes()) {}
  absl::string_view bytes() const override { return file_->bytes(); }
  bool damaged() const override { return range_.failed(); }
  void Release() const override { file_->Release(); }

 private:
  const std::unique_ptr<os::MappedFile> file_;
  const WatchedRange range_;  // Declared last: the file is mapped as long as it lives.
};

absl::Status NoBlob(const BlobId& id) {
  return absl::NotFoundError(absl::StrCat("no blob ", id.Text()));
}

}  // namespace

std::string BlobPath(absl::string_view store, const Digest& digest) {
  const std::string hex = digest.Hex();
  return absl::StrCat(store, "/", hex.substr(0, 2), "/", hex.substr(2, 2), "/", hex);
}

// That a blob was removed just now is no failure of the disk.
absl::Status BlobFiles::FailureToOpen(const BlobId& id, const absl::Status& failure) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  return present ? failure : NoBlob(id);
}

absl::StatusOr<bool> BlobFiles::Contains(const BlobId& id) {
  struct stat status;
  if (stat(PathOf(id.digest).c_str(), &status) == 0) return status.st_size == id.size_bytes;
  if (errno == ENOENT) return false;
  return os::ErrnoError("stat", id.Text());
}

absl::Status BlobFiles::Verify(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (!present) return NoBlob(id);
  absl::StatusOr<BlobCheck> check = BlobCheck::Begin(PathOf(id.digest), id.digest);
  if (!check.ok()) return FailureToOpen(id, check.status());
  if (check->Finish()) {
    NoteIntact(id.digest);
    return absl::OkStatus();
  }
  OnDamaged(id, check->fd());
  return MakeError(
      Reason::kBlobCorrupt,
      absl::StrCat("file ", id.Text(),
                   " is damaged on the server's disk and was set aside; if it is of a model, "
                   "send it again; a result is made anew when its job is submitted again"));
}

absl::Status BlobFiles::VerifyOnce(const BlobId& id) {
  return IsVerified(id.digest) ? absl::OkStatus() : Verify(id);
}

bool BlobFiles::IsVerified(const Digest& digest) const {
  absl::MutexLock lock(&mutex_);
  return verified_.contains(digest);
}

absl::StatusOr<bool> BlobFiles::Holds(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (!present) return false;
  const absl::Status status = VerifyOnce(id);
  if (status.ok()) return true;
  if (absl::IsNotFound(status) || GetReason(status) == Reason::kBlobCorrupt) return false;
  return status;
}

absl::StatusOr<std::shared_ptr<const jobs::Blob>> BlobFiles::Open(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (!present) return NoBlob(id);
  QUOTIENT_RETURN_IF_ERROR(VerifyOnce(id));
  const absl::StatusOr<os::Fd> fd = os::OpenFile(PathOf(id.digest), O_RDONLY);
  if (!fd.ok()) return FailureToOpen(id, fd.status());
  QUOTIENT_ASSIGN_OR_RETURN(auto file, os::MappedFile::Map(*fd, id.Text()));
  return std::make_shared<MappedBlob>(std::move(file));
}

void BlobFiles::NoteIntact(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  verified_.insert(digest);
}

absl::Status BlobFiles::CheckRoom(int64_t size_bytes) const {
  if (size_bytes > limits_.max_blob_bytes) {
    return MakeError(
        Reason::kLimitBytes,
        absl::StrCat("a blob of ", size_bytes, " bytes; the limit is ", limits_.max_blob_bytes));
  }
  return CheckFree(size_bytes);
}

absl::StatusOr<int64_t> BlobFiles::DiskFreeBytes() const {
  struct statvfs status;
  if (statvfs(path_.c_str(), &status) != 0) return os::ErrnoError("stat", path_);
  return static_cast<int64_t>(status.f_bavail * status.f_frsize);
}

absl::Status BlobFiles::CheckFree(int64_t size_bytes) const {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t room_bytes, RoomBytes());
  if (size_bytes <= room_bytes) return absl::OkStatus();
  return MakeError(
      Reason::kStorageDown,
      absl::StrCat("the server's disk is nearly full: it has ", room_bytes + limits_.min_free_bytes,
                   " bytes free, of which ", limits_.min_free_bytes, " have to stay free, and ",
                   size_bytes, " more are needed"));
}

absl::StatusOr<int64_t> BlobFiles::RoomBytes() const {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t free_bytes, DiskFreeBytes());
  return free_bytes - limits_.min_free_bytes;
}

}  // namespace quotient::store
