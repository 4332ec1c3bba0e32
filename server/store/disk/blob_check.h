#pragma once

// Reads a blob's file and compares it with its digest, in steps, so that a large one needs neither
// memory nor a long call.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "core/os/files.h"

namespace quotient::store {

// One thread at a time.
class BlobCheck {
 public:
  static absl::StatusOr<BlobCheck> Begin(const std::string& path, const Digest& digest);

  // Reads up to `max_bytes` more. Returns how many it read.
  int64_t Step(int64_t max_bytes);
  // Reads all that is left. Returns whether the bytes are intact.
  bool Finish();
  // Whether all is known.
  bool done() const { return done_; }
  // Whether the bytes have the digest; false if the disk cannot read them. Once it is done.
  bool intact() const { return intact_; }

  const Digest& digest() const { return digest_; }
  const os::Fd& fd() const { return fd_; }

 private:
  BlobCheck(std::string path, const Digest& digest, os::Fd fd, int64_t size_bytes)
      : path_(std::move(path)), digest_(digest), fd_(std::move(fd)), size_bytes_(size_bytes) {}

  std::string path_;
  Digest digest_;
  os::Fd fd_;
  int64_t size_bytes_;
  int64_t offset_ = 0;
  Digester digester_;
  bool done_ = false;
  bool intact_ = false;
};

}  // namespace quotient::store
