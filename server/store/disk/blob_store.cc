#include "server/store/disk/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "core/os/files.h"
#include "core/os/random_id.h"
#include "server/store/disk/blob_check.h"

namespace quotient::store {
namespace {

absl::Status RemoveAllIn(const std::string& folder) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    std::filesystem::remove_all(entry.path(), failure);
  }
  if (!failure) return absl::OkStatus();
  return MakeError(Reason::kStorageDown, absl::StrCat("clean ", folder, ": ", failure.message()));
}

// The names of files in blobs/incoming that were taken away to be removed begin with this.
constexpr char kTakenAway[] = "removed.";

// Moves a file that was taken away back to its place, unless it was stored anew in the meantime.
absl::Status PutBack(const std::string& aside, const std::string& path) {
  int failed = renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  // Not all file systems know the flag. Both files have the same content.
  if (failed != 0 && errno == EINVAL) failed = rename(aside.c_str(), path.c_str());
  if (failed == 0) return absl::OkStatus();
  if (errno != EEXIST) return os::ErrnoError("put back", path);
  unlink(aside.c_str());
  return absl::OkStatus();
}

// The names of so many characters in a folder, in order.
std::vector<std::string> Names(const std::string& folder, size_t size) {
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    std::string name = entry.path().filename().string();
    if (name.size() == size) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

absl::Status NotMade(const BlobId& id) {
  return MakeError(Reason::kBlobCorrupt,
                   absl::StrCat("what was made as blob ", id.Text(), " has not these bytes"));
}

// Unix time of the last change of a file, in milliseconds.
int64_t MtimeMs(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

bool AreSameFile(const os::Fd& fd, const std::string& path) {
  struct stat opened, named;
  return fstat(fd.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskBlobStore>> DiskBlobStore::Open(
    const std::string& path, const DiskLimits& limits, std::function<void()> on_damage) {
  std::unique_ptr<DiskBlobStore> store(new DiskBlobStore(path, limits, std::move(on_damage)));
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(store->incoming()));
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(store->damaged()));
  QUOTIENT_RETURN_IF_ERROR(store->PutBackTaken());
  QUOTIENT_RETURN_IF_ERROR(RemoveAllIn(store->incoming()));
  return store;
}

// A crash may have come before it was known whether such a file is in use.
absl::Status DiskBlobStore::PutBackTaken() const {
  for (const std::string& name : Names(incoming(), sizeof(kTakenAway) - 1 + 2 * Digest::kSize)) {
    absl::string_view hex = name;
    const std::optional<Digest> digest =
        absl::ConsumePrefix(&hex, kTakenAway) ? Digest::FromHex(hex) : std::nullopt;
    if (!digest.has_value()) continue;
    QUOTIENT_RETURN_IF_ERROR(PutBack(absl::StrCat(incoming(), "/", name), PathOf(*digest)));
  }
  return absl::OkStatus();
}

std::string DiskBlobStore::NewIncoming() const {
  return absl::StrCat(incoming(), "/", os::RandomId());
}

absl::StatusOr<bool> DiskBlobStore::Use(const BlobId& id) {
  // A disk that cannot be written still has its blobs.
  utimensat(AT_FDCWD, PathOf(id.digest).c_str(), nullptr, 0);
  return Contains(id);
}

absl::Status DiskBlobStore::Visit(absl::FunctionRef<absl::Status(const jobs::HeldBlob&)> visit) {
  for (const std::string& outer : Names(path(), 2)) {
    for (const std::string& inner : Names(absl::StrCat(path(), "/", outer), 2)) {
      const std::string folder = absl::StrCat(path(), "/", outer, "/", inner);
      for (const std::string& name : Names(folder, 2 * Digest::kSize)) {
        const std::optional<Digest> digest = Digest::FromHex(name);
        struct stat status;
        if (!digest.has_value() || stat(PathOf(*digest).c_str(), &status) != 0) continue;
        QUOTIENT_RETURN_IF_ERROR(
            visit({.id = {*digest, int64_t{status.st_size}}, .use_ms = MtimeMs(status)}));
      }
    }
  }
  return absl::OkStatus();
}

// Not while a blob is taken away that may be put back.
std::optional<int64_t> DiskBlobStore::LastUseMs(const BlobId& id) const {
  struct stat status;
  absl::MutexLock lock(&mutex_);
  if (stat(PathOf(id.digest).c_str(), &status) != 0) return std::nullopt;
  return MtimeMs(status);
}

// Use takes no mutex, because each submission calls it. So the file is taken away first, and put
// back if its time then says that somebody has used it in the meantime.
absl::StatusOr<bool> DiskBlobStore::RemoveUnused(const BlobId& id, int64_t unix_ms) {
  const std::string path = PathOf(id.digest);
  const std::string aside = absl::StrCat(incoming(), "/", kTakenAway, id.digest.Hex());
  {
    struct stat status;
    absl::MutexLock lock(&mutex_);
    if (stat(path.c_str(), &status) != 0 || MtimeMs(status) >= unix_ms) return false;
    if (rename(path.c_str(), aside.c_str()) != 0) {
      return errno == ENOENT ? absl::StatusOr<bool>(false) : os::ErrnoError("remove", path);
    }
    os::FaultPoint("blob.taken_away");
    if (stat(aside.c_str(), &status) != 0 || MtimeMs(status) >= unix_ms) {
      QUOTIENT_RETURN_IF_ERROR(PutBack(aside, path));
      return false;
    }
    verified_.erase(id.digest);
  }
  os::FaultPoint("blob.forgotten");
  // A large file takes long.
  unlink(aside.c_str());
  return true;
}

absl::Status DiskBlobStore::Adopt(const std::string& file, const BlobId& id) {
  const std::string path = PathOf(id.digest);
  const std::string folder = os::DirectoryOf(path);
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(folder));
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  {
    absl::MutexLock lock(&mutex_);
    if (rename(file.c_str(), path.c_str()) != 0) return os::ErrnoError("rename to", path);
    verified_.insert(id.digest);
  }
  os::FaultPoint("blob.renamed");
  return os::SyncDirectory(folder);
}

// The process that made it may have been turned against this one: the file may be anything.
absl::Status DiskBlobStore::Take(const std::string& folder, const BlobId& id) {
  // Used before it is looked at: from then on nobody removes it.
  QUOTIENT_RETURN_IF_ERROR(Use(id).status());
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, Holds(id));
  if (present) return absl::OkStatus();
  const std::string made = absl::StrCat(folder, "/", id.digest.Hex());
  struct stat status;
  if (lstat(made.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat("no blob ", id.Text(), " was made"))
                           : os::ErrnoError("look at", made);
  }
  const bool is_plain = S_ISREG(status.st_mode) && status.st_nlink == 1;
  if (!is_plain || status.st_size != id.size_bytes) return NotMade(id);
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(0));
  QUOTIENT_ASSIGN_OR_RETURN(BlobCheck check, BlobCheck::Begin(made, id.digest));
  if (!check.Finish()) return NotMade(id);
  os::FaultPoint("blob.checked");
  QUOTIENT_RETURN_IF_ERROR(os::Sync(check.fd(), made));
  os::FaultPoint("blob.synced");
  return Adopt(made, id);
}

void DiskBlobStore::SetAside(const Digest& digest, const os::Fd& fd) {
  const std::string path = PathOf(digest);
  {
    absl::MutexLock lock(&mutex_);
    if (!AreSameFile(fd, path)) return;
    const std::string aside = absl::StrCat(damaged(), "/", digest.Hex(), ".", os::RandomId());
    // If the file cannot be moved, it is found damaged again.
    if (rename(path.c_str(), aside.c_str()) != 0) return;
    os::FaultPoint("blob.set_aside");
    // Its age is counted from now.
    futimens(fd.get(), nullptr);
    verified_.erase(digest);
  }
  Log().error("blob {} is damaged and was set aside, in {}", digest.Hex(), damaged());
  on_damage_();
}

std::optional<Digest> DiskBlobStore::Next(std::optional<Digest> after) const {
  const std::string last = after.has_value() ? after->Hex() : "";
  for (const std::string& outer : Names(path(), 2)) {
    if (outer < last.substr(0, 2)) continue;
    for (const std::string& inner : Names(absl::StrCat(path(), "/", outer), 2)) {
      if (outer + inner < last.substr(0, 4)) continue;
      for (const std::string& name :
           Names(absl::StrCat(path(), "/", outer, "/", inner), 2 * Digest::kSize)) {
        const std::optional<Digest> digest = Digest::FromHex(name);
        if (name > last && digest.has_value()) return digest;
      }
    }
  }
  return std::nullopt;
}

void DiskBlobStore::RemoveDamaged(int64_t unix_ms) const {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(damaged(), failure)) {
    struct stat status;
    if (stat(entry.path().c_str(), &status) != 0) continue;
    if (MtimeMs(status) < unix_ms) {
      std::filesystem::remove(entry.path(), failure);
    }
  }
}

absl::Status DiskBlobStore::Probe() const {
  QUOTIENT_RETURN_IF_ERROR(CheckFree(0));
  const std::string file = NewIncoming();
  const auto remove = absl::MakeCleanup([&file] { unlink(file.c_str()); });
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(file, O_WRONLY | O_CREAT | O_EXCL));
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, "probe", file));
  return os::Sync(fd, file);
}

}  // namespace quotient::store
