#pragma once

// Files the way durable programs need them: descriptors that close themselves, whole reads and
// writes, syncs, memory maps. Failures are STORAGE_DOWN and name the file.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::os {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

// A file's bytes in memory for as long as the object lives. The file must not shrink meanwhile.
class MappedFile {
 public:
  // `name` is for messages.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Map(const Fd& fd, absl::string_view name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::string_view bytes() const { return {data_, size_}; }
  // Gives the memory back that the bytes take. They are read from the file again when they are
  // used.
  void Release() const;

 private:
  MappedFile(const char* data, size_t size);
  const char* const data_;
  const size_t size_;
};

// As MappedFile::Release of all that exist in this process. For code that has read much of what it
// was given and does not know which files that lies in. Thread-safe.
void ReleaseMappedFiles();

// STORAGE_DOWN with the text of errno.
absl::Status ErrnoError(absl::string_view what, absl::string_view path);

// Does not wait: a FIFO without another end is opened, or refused if it is to be written.
absl::StatusOr<Fd> OpenFile(const std::string& path, int flags, mode_t mode = 0644);
absl::Status WriteFully(const Fd& fd, absl::string_view bytes, absl::string_view path);
absl::Status WriteFullyAt(const Fd& fd, absl::string_view bytes, int64_t offset,
                          absl::string_view path);
// Reads exactly so many bytes; an error if the file ends before.
absl::StatusOr<std::string> ReadFullyAt(const Fd& fd, int64_t offset, size_t size,
                                        absl::string_view path);
absl::Status Sync(const Fd& fd, absl::string_view path);
absl::Status SyncDirectory(const std::string& path);
// All missing parents, too.
absl::Status MakeDirectories(const std::string& path);
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Whether both paths lead to the same file or folder; false if one leads nowhere.
bool SameFile(const std::string& a, const std::string& b);
// Whether both paths lead to the same file, or would once it is created.
bool SamePlace(const std::string& a, const std::string& b);

// "a/b" -> "a", "b" -> "."; and "a/b" -> "b".
std::string DirectoryOf(absl::string_view path);
std::string BaseName(absl::string_view path);

}  // namespace quotient::os
