#pragma once

// FileLock: holds the exclusive advisory lock of an open file (flock). Blocks until it has the
// lock, or for a while only. Two descriptors of one file exclude each other, be they of one process
// or of several.

#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace quotient::timing {

class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {
    int result;
    do result = flock(descriptor_, LOCK_EX);
    while (result != 0 && errno == EINTR);
    held_ = result == 0;
  }
  // Does without the lock if others hold it for longer; errno is EWOULDBLOCK then. flock itself
  // cannot wait for a time, so it is asked again and again.
  FileLock(int descriptor, std::chrono::milliseconds patience) : descriptor_(descriptor) {
    constexpr std::chrono::milliseconds kPause(10);
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
      held_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
      if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) return;
      if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() >= end) return;
      if (errno == EWOULDBLOCK) std::this_thread::sleep_for(kPause);
    }
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
