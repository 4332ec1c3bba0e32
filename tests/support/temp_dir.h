#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace quotient::testing {

// A folder that is gone when the object is.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& place = std::filesystem::temp_directory_path()) {
    std::string pattern = (place / "quotient-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace quotient::testing
