#include "server/store/disk/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "core/os/random_id.h"

namespace quotient::store {
namespace {

class MappedBlob : public jobs::Blob {
 public:
  explicit MappedBlob(std::unique_ptr<os::MappedFile> file) : file_(std::move(file)) {}
  absl::string_view bytes() const override { return file_->bytes(); }
  void Release() const override { file_->Release(); }

 private:
  const std::unique_ptr<os::MappedFile> file_;
};

absl::Status RemoveFiles(const std::string& folder) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    std::filesystem::remove(entry.path(), failure);
  }
  if (!failure) return absl::OkStatus();
  return MakeError(Reason::kStorageDown, absl::StrCat("clean ", folder, ": ", failure.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskBlobStore>> DiskBlobStore::Open(const std::string& path,
                                                                   const DiskLimits& limits) {
  std::unique_ptr<DiskBlobStore> store(new DiskBlobStore(path, limits));
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(store->incoming()));
  QUOTIENT_RETURN_IF_ERROR(RemoveFiles(store->incoming()));
  return store;
}

std::string DiskBlobStore::PathOf(const BlobId& id) const {
  const std::string hex = id.digest.Hex();
  return absl::StrCat(path_, "/", hex.substr(0, 2), "/", hex.substr(2, 2), "/", hex);
}

absl::StatusOr<bool> DiskBlobStore::Contains(const BlobId& id) {
  struct stat status;
  if (stat(PathOf(id).c_str(), &status) == 0) return status.st_size == id.size_bytes;
  if (errno == ENOENT) return false;
  return os::ErrnoError("stat", id.Text());
}

absl::StatusOr<std::shared_ptr<const jobs::Blob>> DiskBlobStore::Open(const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (!present) return absl::NotFoundError(absl::StrCat("no blob ", id.Text()));
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(PathOf(id), O_RDONLY));
  QUOTIENT_ASSIGN_OR_RETURN(auto file, os::MappedFile::Map(fd, id.Text()));
  return std::make_shared<MappedBlob>(std::move(file));
}

absl::StatusOr<BlobId> DiskBlobStore::Put(absl::string_view bytes) {
  const BlobId id = BlobId::Of(bytes);
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Contains(id));
  if (present) return id;
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(id.size_bytes));
  const std::string file = absl::StrCat(incoming(), "/", os::RandomId());
  const auto remove = absl::MakeCleanup([&file] { unlink(file.c_str()); });
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(file, O_WRONLY | O_CREAT | O_EXCL));
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, bytes, file));
  QUOTIENT_RETURN_IF_ERROR(os::Sync(fd, file));
  QUOTIENT_RETURN_IF_ERROR(Adopt(file, id));
  return id;
}

absl::Status DiskBlobStore::Adopt(const std::string& file, const BlobId& id) {
  const std::string path = PathOf(id);
  const std::string folder = os::DirectoryOf(path);
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(folder));
  if (rename(file.c_str(), path.c_str()) != 0) return os::ErrnoError("rename to", path);
  return os::SyncDirectory(folder);
}

absl::Status DiskBlobStore::CheckRoom(int64_t size_bytes) const {
  if (size_bytes > limits_.max_blob_bytes) {
    return MakeError(
        Reason::kLimitBytes,
        absl::StrCat("a blob of ", size_bytes, " bytes; the limit is ", limits_.max_blob_bytes));
  }
  return CheckFree(size_bytes);
}

absl::Status DiskBlobStore::Probe(int64_t size_bytes) const {
  QUOTIENT_RETURN_IF_ERROR(CheckFree(size_bytes));
  const std::string file = absl::StrCat(incoming(), "/", os::RandomId());
  const auto remove = absl::MakeCleanup([&file] { unlink(file.c_str()); });
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(file, O_WRONLY | O_CREAT | O_EXCL));
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, "probe", file));
  return os::Sync(fd, file);
}

absl::Status DiskBlobStore::CheckFree(int64_t size_bytes) const {
  struct statvfs status;
  if (statvfs(path_.c_str(), &status) != 0) return os::ErrnoError("stat", path_);
  const auto free_bytes = static_cast<int64_t>(status.f_bavail * status.f_frsize);
  if (free_bytes - size_bytes >= limits_.min_free_bytes) return absl::OkStatus();
  return MakeError(Reason::kStorageDown, "the server's disk is nearly full");
}

}  // namespace quotient::store
