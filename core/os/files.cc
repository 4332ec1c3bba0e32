#include "core/os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::os {
namespace {

// One write moves at most about 2 GiB on Linux; smaller pieces behave the same everywhere.
constexpr size_t kMaxIo = size_t{1} << 30;

absl::StatusOr<int64_t> SizeOf(const Fd& fd, absl::string_view name) {
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return ErrnoError("stat", name);
  if (!S_ISREG(status.st_mode)) {
    return MakeError(Reason::kStorageDown, absl::StrCat(name, ": not a regular file"));
  }
  return int64_t{status.st_size};
}

// The mapped files of the process that are not empty.
class MappedFiles {
 public:
  void Add(const MappedFile* file) {
    const absl::MutexLock lock(&mutex_);
    files_.insert(file);
  }
  void Remove(const MappedFile* file) {
    const absl::MutexLock lock(&mutex_);
    files_.erase(file);
  }
  void Release() const {
    const absl::MutexLock lock(&mutex_);
    for (const MappedFile* const file : files_) file->Release();
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<const MappedFile*> files_ ABSL_GUARDED_BY(mutex_);
};

MappedFiles& AllMappedFiles() {
  static auto& files = *new MappedFiles;
  return files;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Fd::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::Status ErrnoError(absl::string_view what, absl::string_view path) {
  const int code = errno;
  return MakeError(Reason::kStorageDown, absl::StrCat(what, " ", path, ": ", strerror(code)));
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Map(const Fd& fd, absl::string_view name) {
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t size, SizeOf(fd, name));
  if (size == 0) return std::unique_ptr<MappedFile>(new MappedFile(nullptr, 0));
  void* const data =
      mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, fd.get(), /*offset=*/0);
  if (data == MAP_FAILED) return ErrnoError("map", name);
  return std::unique_ptr<MappedFile>(
      new MappedFile(static_cast<const char*>(data), static_cast<size_t>(size)));
}

MappedFile::MappedFile(const char* data, size_t size) : data_(data), size_(size) {
  if (data_ != nullptr) AllMappedFiles().Add(this);
}

void MappedFile::Release() const {
  if (data_ != nullptr) madvise(const_cast<char*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  AllMappedFiles().Remove(this);
  munmap(const_cast<char*>(data_), size_);
}

void ReleaseMappedFiles() { AllMappedFiles().Release(); }

absl::StatusOr<Fd> OpenFile(const std::string& path, int flags, mode_t mode) {
  // Regular files are read and written as without O_NONBLOCK.
  Fd fd(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode));
  if (!fd.valid()) return ErrnoError("open", path);
  return fd;
}

absl::Status WriteFully(const Fd& fd, absl::string_view bytes, absl::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), std::min(bytes.size(), kMaxIo));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError("write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteFullyAt(const Fd& fd, absl::string_view bytes, int64_t offset,
                          absl::string_view path) {
  if (lseek(fd.get(), offset, SEEK_SET) < 0) return ErrnoError("seek", path);
  return WriteFully(fd, bytes, path);
}

absl::Status Sync(const Fd& fd, absl::string_view path) {
  return fsync(fd.get()) == 0 ? absl::OkStatus() : ErrnoError("sync", path);
}

absl::Status SyncDirectory(const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const Fd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  return Sync(fd, path);
}

absl::Status MakeDirectories(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) return SyncDirectory(DirectoryOf(path));
  if (errno == EEXIST) return absl::OkStatus();
  if (errno != ENOENT) return ErrnoError("create", path);
  QUOTIENT_RETURN_IF_ERROR(MakeDirectories(DirectoryOf(path)));
  if (mkdir(path.c_str(), 0755) == 0) return SyncDirectory(DirectoryOf(path));
  return errno == EEXIST ? absl::OkStatus() : ErrnoError("create", path);
}

absl::StatusOr<std::string> ReadFullyAt(const Fd& fd, int64_t offset, size_t size,
                                        absl::string_view path) {
  std::string content(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(fd.get(), content.data() + done, size - done,
                                static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("read", path);
    if (count == 0) {
      return MakeError(Reason::kStorageDown, absl::StrCat("read ", path, ": the file is shorter"));
    }
    done += static_cast<size_t>(count);
  }
  return content;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const Fd fd, OpenFile(path, O_RDONLY));
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(fd.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("read", path);
    if (count == 0) return content;
    content.append(buffer, static_cast<size_t>(count));
  }
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat first, second;
  if (stat(a.c_str(), &first) != 0 || stat(b.c_str(), &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool SamePlace(const std::string& a, const std::string& b) {
  return SameFile(a, b) || (BaseName(a) == BaseName(b) && SameFile(DirectoryOf(a), DirectoryOf(b)));
}

std::string DirectoryOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace quotient::os
