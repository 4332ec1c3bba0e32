#include "server/store/disk/blob_check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace quotient::store {

absl::StatusOr<BlobCheck> BlobCheck::Begin(const std::string& path, const Digest& digest) {
  QUOTIENT_ASSIGN_OR_RETURN(os::Fd fd, os::OpenFile(path, O_RDONLY));
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return os::ErrnoError("stat", path);
  return BlobCheck(path, digest, std::move(fd), int64_t{status.st_size});
}

int64_t BlobCheck::Step(int64_t max_bytes) {
  if (done_) return 0;
  const int64_t count = std::min(max_bytes, size_bytes_ - offset_);
  const absl::StatusOr<std::string> bytes =
      os::ReadFullyAt(fd_, offset_, static_cast<size_t>(count), path_);
  if (!bytes.ok()) {
    Log().error("{}", std::string(bytes.status().message()));
    done_ = true;
    return 0;
  }
  digester_.Update(absl::string_view(*bytes));
  offset_ += count;
  if (offset_ == size_bytes_) {
    done_ = true;
    intact_ = digester_.Finish() == digest_;
  }
  return count;
}

bool BlobCheck::Finish() {
  constexpr int64_t kReadBytes = 1 << 20;
  while (!done_) Step(kReadBytes);
  return intact_;
}

}  // namespace quotient::store
