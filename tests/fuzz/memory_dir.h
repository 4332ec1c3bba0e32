#pragma once

// Where targets put files that they write and sync often.

#include <unistd.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace quotient::testing {

// A temporary folder in memory, if the machine has a place for that.
class MemoryDir : public TempDir {
 public:
  MemoryDir() : TempDir(Place()) {}

 private:
  static std::filesystem::path Place() {
    const char kShared[] = "/dev/shm";
    return access(kShared, W_OK) == 0 ? kShared : std::filesystem::temp_directory_path();
  }
};

}  // namespace quotient::testing
