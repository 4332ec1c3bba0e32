#pragma once

// FileLock: holds the exclusive advisory lock of an open file (flock). Blocks until it has the
// lock. Two descriptors of one file exclude each other, be they of one process or of several.

#include <sys/file.h>

#include <cerrno>

namespace quotient::timing {

class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {
    int result;
    do result = flock(descriptor_, LOCK_EX);
    while (result != 0 && errno == EINTR);
    held_ = result == 0;
  }
  ~FileLock() {
    if (held_) flock(descriptor_, LOCK_UN);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool held() const { return held_; }

 private:
  const int descriptor_;
  bool held_;
};

}  // namespace quotient::timing
